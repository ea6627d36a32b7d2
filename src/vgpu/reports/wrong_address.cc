// A wrapped index: p[i - 1] for an unsigned i of 0 is 2^32 - 1 elements past p, so an address that lies 2^32
// elements past the neighbourhood of an allocation says so. An unwritten one: registers are followed
// backwards from the address, each to the write before it in the text, as far as loads; what is in memory is
// not followed.
#include "vgpu/reports/wrong_address.h"

#include "vgpu/engine/launch.h"
#include "vgpu/memory/place.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <vector>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kNearBytes = uint64_t{1} << 20;
constexpr size_t kMostFollowed = 256; // instructions

// The registers that make the address; of instructions with several addresses all that are read.
std::vector<uint32_t> address_registers(const Code& code, const DecodedInst& in) {
  const bool has_one = isa::effects_of(code.opcode_of(in)).has(isa::effect::accesses);
  std::vector<uint32_t> registers;
  const std::span<const Slot> sources = code.srcs_of(in);
  for (const Slot& slot : has_one ? sources.first(std::min<size_t>(sources.size(), 1)) : sources)
    if (slot.base == 0 && slot.reg() != ptx::kNone)
      registers.push_back(slot.reg());
  return registers;
}

bool writes(const Code& code, const DecodedInst& in, uint32_t reg) {
  return std::ranges::any_of(code.dsts_of(in), [&](const Slot& slot) { return slot.reg() == reg; });
}

// The last write of the register before pc, else the last of all (a loop); none: code.insts.size().
size_t last_write(const Code& code, uint32_t reg, size_t pc) {
  for (size_t i = pc; i-- > 0;)
    if (writes(code, code.insts[i], reg))
      return i;
  for (size_t i = code.insts.size(); i-- > pc;)
    if (writes(code, code.insts[i], reg))
      return i;
  return code.insts.size();
}

} // namespace

std::optional<Wrapped> find_wrapped(const GlobalMemory& memory, uint64_t address, uint64_t bytes) {
  // An access to several elements at once may be indexed by one.
  for (uint64_t element = bytes; element > 0; element = element > 4 ? element / 2 : element > 1 ? 1 : 0) {
    const uint64_t far = element << 32;
    if (address < far)
      continue;
    const uint64_t meant = address - far;
    const Allocation* near = memory.nearest(meant);
    if (!near)
      return std::nullopt;
    if (meant < near->base && near->base - meant <= kNearBytes)
      return Wrapped{near, element, near->base - meant, 0};
    if (meant >= near->base && meant - near->base < near->size_bytes)
      return Wrapped{near, element, 0, meant - near->base};
  }
  return std::nullopt;
}

std::string unwritten_index(const Exec& x, const DecodedInst& in) {
  const Code& code = *x.code;
  if (&in < code.insts.data() || &in >= code.insts.data() + code.insts.size())
    return {};
  const std::lock_guard lock(x.launch->report_mutex);
  const auto& known = x.launch->uninitialized_at;
  if (known.empty())
    return {};
  std::vector<const DecodedInst*> followed = {&in};
  for (size_t i = 0; i < followed.size() && i < kMostFollowed; ++i) {
    const DecodedInst& at = *followed[i];
    if (const auto found = known.find(code.id_of(at)); found != known.end()) {
      const auto& reads = x.launch->report.uninitialized;
      const std::string what =
          found->second < reads.size() ? reads[found->second].what : "memory or a register";
      // What the access itself has read from memory made no address; of other lanes, or before.
      if (i > 0 || what.starts_with("register "))
        return fmt::format("index: may come from line {}, which reads {}, which was never written",
                           place_of(code, at).ptx_line, what);
    }
    if (i > 0 && code.is_load(at))
      continue;
    for (const uint32_t reg : address_registers(code, at)) {
      const size_t write = last_write(code, reg, static_cast<size_t>(&at - code.insts.data()));
      if (write < code.insts.size() &&
          std::find(followed.begin(), followed.end(), &code.insts[write]) == followed.end())
        followed.push_back(&code.insts[write]);
    }
  }
  return {};
}

} // namespace lemma::vgpu
