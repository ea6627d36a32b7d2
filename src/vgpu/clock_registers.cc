// Flow-insensitive: a register that holds a clock somewhere is left out everywhere. See clock_registers.h.
#include "vgpu/clock_registers.h"

#include "vgpu/special_registers.h"

#include <algorithm>
#include <map>

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

} // namespace

void find_loop_state(Code& code) {
  std::map<uint32_t, uint32_t> clocks; // lane arrays: begin and end
  const auto add_destinations = [&](const DecodedInst& in) {
    bool added = false;
    for (int i = 0; i < in.dst_count; ++i)
      if (const Slot& slot = in.ops[i]; in_frame(slot))
        added |= clocks.emplace(slot.offset, slot.offset + slot.bytes * kWarpSize).second;
    return added;
  };
  for (const DecodedInst& in : code.insts)
    if (reads_clock(in))
      add_destinations(in);
  for (bool changed = !clocks.empty(); changed;) {
    changed = false;
    for (const DecodedInst& in : code.insts) {
      if (reads_memory(code, in))
        continue;
      const bool from_clock = std::any_of(in.ops + in.dst_count, in.ops + in.op_count, [&](const Slot& slot) {
        return in_frame(slot) && clocks.contains(slot.offset);
      });
      changed |= from_clock && add_destinations(in);
    }
  }
  uint32_t begin = 0;
  for (const auto& [first, last] : clocks) {
    if (begin < first)
      code.loop_state.push_back({begin, first});
    begin = last;
  }
  code.loop_state.push_back({begin, static_cast<uint32_t>(code.frame_bytes)});
}

} // namespace lemma::vgpu
