// The rows of effects.def, by opcode. An opcode without one does not compile. See effects.h.
#include "isa/effects.h"

#include <array>

namespace lemma::isa {
namespace {

using namespace effect;
using enum Semantics;
using enum MemoryScope;

constexpr auto index(Opcode opcode) {
  return static_cast<size_t>(opcode);
}

constexpr std::array<Effects, kOpcodeCount> kEffects = [] {
  std::array<Effects, kOpcodeCount> rows{};
#define EFFECTS(name, ...) rows[index(Opcode::name)] = __VA_ARGS__;
#include "isa/effects.def"
#undef EFFECTS
  return rows;
}();

#define OPCODE(name, spelling)                                                                               \
  static_assert(kEffects[index(Opcode::name)].is_stated(), "the OPCODE line of " spelling " says no "        \
                                                           "effects");
#include "isa/opcodes.def"
#undef OPCODE

// What is pure does nothing else, and nothing else makes what it gives of its sources alone.
constexpr bool are_consistent() {
  for (const Effects& effects : kEffects) {
    if (effects.has(pure) ? (effects | carry | makes) != (pure | carry | makes) : effects.has_any(makes))
      return false;
    if (effects.has(nothing) && effects != nothing)
      return false;
    if (effects.has_any(commits | waits) && effects.has(asynchronous))
      return false;
  }
  return true;
}
static_assert(are_consistent());

} // namespace

Effects effects_of(Opcode opcode) {
  return kEffects[index(opcode)];
}

Extent extent_of(SpecialRegister sreg) {
  switch (sreg) {
  case SpecialRegister::clock:
  case SpecialRegister::clock_hi:
  case SpecialRegister::clock64:
  case SpecialRegister::globaltimer:
  case SpecialRegister::globaltimer_lo:
  case SpecialRegister::globaltimer_hi:
    return Extent::moment;
  case SpecialRegister::tid_x:
  case SpecialRegister::tid_y:
  case SpecialRegister::tid_z:
  case SpecialRegister::laneid:
  case SpecialRegister::lanemask_eq:
  case SpecialRegister::lanemask_le:
  case SpecialRegister::lanemask_lt:
  case SpecialRegister::lanemask_ge:
  case SpecialRegister::lanemask_gt:
    return Extent::thread;
  case SpecialRegister::warpid:
    return Extent::warp;
  default:
    return Extent::cta;
  }
}

} // namespace lemma::isa
