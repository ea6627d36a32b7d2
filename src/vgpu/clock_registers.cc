// Flow-insensitive: a register that holds a clock somewhere is left out everywhere. See clock_registers.h.
#include "vgpu/clock_registers.h"

#include "vgpu/special_registers.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

namespace lemma::vgpu {
namespace {

// What is read from memory is no function of the address.
bool reads_memory(const Code& code, const DecodedInst& in) {
  if (in.source == ptx::kNone)
    return false;
  const isa::Opcode opcode = code.function->instructions[in.source].opcode;
  return opcode == isa::Opcode::ld || opcode == isa::Opcode::atom;
}

bool in_frame(const Slot& slot) {
  return slot.base == 0 && slot.bytes != 0; // no predicate
}

// Marks the instruction's destinations, and those of all that reads them, and so on.
class Marker {
public:
  explicit Marker(const Code& code) {
    for (const DecodedInst& in : code.insts)
      for (int i = in.dst_count; i < in.op_count; ++i)
        if (in_frame(in.ops[i]) && !reads_memory(code, in))
          readers_[in.ops[i].offset].push_back(&in);
  }

  void mark(const DecodedInst& first) {
    std::vector<const DecodedInst*> left{&first};
    while (!left.empty()) {
      const DecodedInst& in = *left.back();
      left.pop_back();
      for (int i = 0; i < in.dst_count; ++i) {
        const Slot& slot = in.ops[i];
        if (!in_frame(slot) || !marked_.emplace(slot.offset, slot.offset + slot.bytes * kWarpSize).second)
          continue;
        if (const auto found = readers_.find(slot.offset); found != readers_.end())
          left.insert(left.end(), found->second.begin(), found->second.end());
      }
    }
  }

  // Lane arrays in the frame: begin and end, in bytes.
  const std::map<uint32_t, uint32_t>& marked() const { return marked_; }

private:
  std::unordered_map<uint32_t, std::vector<const DecodedInst*>> readers_; // by the lane array that they read
  std::map<uint32_t, uint32_t> marked_;
};

} // namespace

void find_loop_state(Code& code) {
  uint32_t begin = 0;
  if (std::any_of(code.insts.begin(), code.insts.end(), reads_clock)) {
    Marker clocks(code);
    for (const DecodedInst& in : code.insts)
      if (reads_clock(in))
        clocks.mark(in);
    for (const auto& [first, last] : clocks.marked()) {
      if (begin < first)
        code.loop_state.push_back({begin, first});
      begin = last;
    }
  }
  code.loop_state.push_back({begin, static_cast<uint32_t>(code.frame_bytes)});
}

} // namespace lemma::vgpu
