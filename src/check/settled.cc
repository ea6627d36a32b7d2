// A predicate that one instruction makes has each time what comes of that one's sources. See settled.h.
#include "check/settled.h"

#include "isa/effects.h"

#include <algorithm>
#include <cstring>

namespace lemma::check {

using isa::Qual;
using vgpu::DecodedInst;

namespace {

bool is_predicate(const vgpu::Slot& slot) {
  return slot.base == 0 && slot.bytes == 0;
}

Settled both(const Settled& a, const Settled& b) {
  return {a.clear | b.clear, a.set & b.set};
}

Settled either(const Settled& a, const Settled& b) {
  return {a.clear & b.clear, a.set | b.set};
}

} // namespace

SettledPredicates::SettledPredicates(const vgpu::Code& code) : code_(code) {
  for (uint32_t pc = 0; pc < code.insts.size(); ++pc) {
    const DecodedInst& in = code.insts[pc];
    for (const vgpu::Slot& slot : code.dsts_of(in))
      if (is_predicate(slot)) {
        const auto [maker, is_first] = makers_.try_emplace(slot.offset, pc);
        if (!is_first || in.guarded)
          maker->second.reset();
      }
  }
}

Settled SettledPredicates::of(uint32_t predicate, const std::byte* registers, int steps) const {
  const auto& constants = code_.constant_predicates;
  if (std::binary_search(constants.begin(), constants.end(), predicate)) {
    vgpu::LaneMask value = 0;
    std::memcpy(&value, registers + predicate, sizeof value);
    return Settled::as(value);
  }
  const auto maker = makers_.find(predicate);
  if (maker == makers_.end() || !maker->second || steps == kMostSteps)
    return {};
  const DecodedInst& in = code_.insts[*maker->second];
  const auto source = [&](int i) {
    const vgpu::Slot& slot = code_.srcs_of(in)[static_cast<size_t>(i)];
    return is_predicate(slot) ? of(slot.offset, registers, steps + 1) : Settled{};
  };
  const isa::Effects does = isa::effects_of(code_.opcode_of(in));
  if (does.has(isa::effect::zero_decides))
    return both(source(0), source(1));
  if (does.has(isa::effect::one_decides))
    return either(source(0), source(1));
  constexpr int kCombinedWith = 2;
  if (!does.has(isa::effect::compares) || in.op_count != in.dst_count + kCombinedWith + 1)
    return {};
  const ptx::Instruction& setp = code_.function->instructions[in.source];
  return setp.has(Qual::and_)  ? both({}, source(kCombinedWith))
         : setp.has(Qual::or_) ? either({}, source(kCombinedWith))
                               : Settled{};
}

} // namespace lemma::check
