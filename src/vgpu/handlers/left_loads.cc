// Which loads are left, and what is brought after all. See left_loads.h.
#include "vgpu/handlers/left_loads.h"

#include "isa/vocabulary.h"

#include <algorithm>
#include <unordered_map>

namespace lemma::vgpu {
namespace {

using isa::Opcode;

// One that has nothing to ask before it loads, and that has a quick way.
bool may_leave(const Code& code, const DecodedInst& in) {
  return code.opcode_of(in) == Opcode::wmma_load && in.handler != run_wmma_load && in.dst_count == 1 &&
         code.dsts_of(in)[0].bytes == sizeof(double) && !in.guarded && !in.checks_init && !in.marks_written;
}

// Neither writes memory nor meets others, who may have written it.
bool keeps_memory(const Code& code, const DecodedInst& in) {
  if (in.computes)
    return true;
  switch (code.opcode_of(in)) {
  case Opcode::wmma_load:
  case Opcode::wmma_mma:
  case Opcode::mma:
    return true;
  case Opcode::ld:
    return in.order.semantics == Semantics::weak;
  default:
    return false;
  }
}

} // namespace

std::vector<LeftLoad> leave_loads(Code& code, uint32_t begin, uint32_t end,
                                  std::span<const uint32_t> registers, std::span<const uint32_t> reads) {
  const Handler leaves = leaving_wmma_load();
  std::unordered_map<uint32_t, uint32_t> wanted; // how often the products read each
  for (const uint32_t reg : registers)
    ++wanted[reg];
  const bool read_elsewhere = std::any_of(wanted.begin(), wanted.end(), [&](const auto& one) {
    return one.first == ptx::kNone || reads[one.first] != one.second;
  });
  if (!leaves || read_elsewhere)
    return {};
  const auto loaded_by = [&](const DecodedInst& in) { return code.dsts_of(in)[0].reg(); };
  std::vector<DecodedInst*> found;
  for (uint32_t pc = end; pc-- > begin && found.size() < wanted.size();) {
    DecodedInst& in = code.insts[pc];
    const auto is_same = [&](const DecodedInst* other) { return loaded_by(*other) == loaded_by(in); };
    if (may_leave(code, in) && wanted.contains(loaded_by(in)) &&
        std::none_of(found.begin(), found.end(), is_same))
      found.push_back(&in);
    else if (!keeps_memory(code, in))
      return {};
  }
  if (found.size() < wanted.size())
    return {};
  std::vector<LeftLoad> loads;
  for (DecodedInst* in : found) {
    in->handler = leaves;
    loads.push_back(
        {.reg = loaded_by(*in), .offset = in->dst_offset, .left = code.plan<WmmaMovePlan>(*in).left()});
  }
  return loads;
}

void bring(Exec& x, std::span<const LeftLoad> loads) {
  constexpr size_t kLines = 8, kLineBytes = kWarpSize * sizeof(double) / kLines;
  for (const LeftLoad& load : loads) {
    const LeftInMemory left = left_by(x, load);
    for (size_t line = 0; left.first && line < kLines; ++line)
      std::memcpy(x.bases[0] + load.offset + line * kLineBytes, left.first + line * left.pitch, kLineBytes);
    const LeftInMemory loaded;
    std::memcpy(x.bases[0] + load.left, &loaded, sizeof loaded);
  }
}

} // namespace lemma::vgpu
