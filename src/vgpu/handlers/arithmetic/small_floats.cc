// Arithmetic on four floats of 8, 6 or 4 bits at once: add, sub, mul and fma whose result is .e4m3x4 or
// .e5m2x4. Each element is computed exactly and rounded once, to nearest even, by src/numeric. Not checked on
// hardware: no H200 has it.
//
// PTX ISA: "Alternate Floating Point Instructions". Tests: tests/unit/vgpu/small_floats_test.cc.
#include "numeric/arithmetic.h"
#include "vgpu/handlers/arithmetic/convert.h"

#include <algorithm>
#include <array>

namespace lemma::vgpu {
namespace {

using isa::Opcode;
using isa::Qual;
using isa::Type;

constexpr int kElements = 4;

// DecodedInst::imm: the types of the result and of the first two sources.
//
//   | 23..16 b | 15..8 a | 7..0 to |
using Types = std::array<Type, 3>;
int64_t pack(const Types& types) {
  return int64_t(types[2]) << 16 | int64_t(types[1]) << 8 | int64_t(types[0]);
}
Type type_at(int64_t bits, int index) {
  return static_cast<Type>(bits >> 8 * index & 0xff);
}

// Element i, the lowest first.
numeric::Operand element(Type type, uint64_t packed, int i) {
  const ElementFormat format = format_of(type).value_or(ElementFormat{});
  return {format.floating, packed >> i * format.bits & ((1u << format.bits) - 1)};
}

numeric::Operand negated(numeric::Operand a) {
  return {a.format, a.bits ^ numeric::traits(a.format).sign_mask()};
}

template <Opcode kOpcode>
Step run(Exec& x, const DecodedInst& in) {
  const Type to = type_at(in.imm, 0), a_type = type_at(in.imm, 1), b_type = type_at(in.imm, 2);
  const numeric::FloatFormat format = element(to, 0, 0).format;
  const numeric::ArithmeticOptions options{.satfinite = (in.flags & kFlagSatfinite) != 0};
  for_lanes(x.active, [&](int lane) {
    const uint64_t third = kOpcode == Opcode::fma ? x.src_lane(in, 2, lane) : 0;
    uint32_t result = 0;
    for (int i = 0; i < kElements; ++i) {
      const numeric::Operand a = element(a_type, x.src_lane(in, 0, lane), i),
                             b = element(b_type, x.src_lane(in, 1, lane), i);
      uint64_t rounded = 0;
      if constexpr (kOpcode == Opcode::mul)
        rounded = numeric::mul_mixed(format, a, b, options);
      else if constexpr (kOpcode == Opcode::fma)
        rounded = numeric::fma_mixed(format, a, b, element(to, third, i), options);
      else
        rounded = numeric::add_mixed(format, a, kOpcode == Opcode::sub ? negated(b) : b, options);
      result |= static_cast<uint32_t>(rounded) << 8 * i;
    }
    x.dst<uint32_t>(in)[lane] = result;
  });
  return Step::next;
}

Handler handler_of(Opcode opcode) {
  switch (opcode) {
  case Opcode::add:
    return run<Opcode::add>;
  case Opcode::sub:
    return run<Opcode::sub>;
  case Opcode::mul:
    return run<Opcode::mul>;
  case Opcode::fma:
    return run<Opcode::fma>;
  default:
    return nullptr;
  }
}

} // namespace

bool pick_small_floats(const ptx::Instruction& instruction, Selection& selection) {
  const auto types = instruction.types();
  const Handler handler = handler_of(instruction.opcode);
  const bool is_small = std::all_of(types.begin(), types.end(), [](Type type) {
    const auto format = format_of(type);
    return format && format->is_float && format->elements == kElements;
  });
  if (!handler || !is_small || types.size() < 2)
    return false;
  // Of sums the second source has the type of the result.
  const Types all{types[0], types[1], types.size() > 2 ? types[2] : types[0]};
  selection = {};
  selection.handler = handler;
  selection.dst[0] = Type::b32;
  selection.src = {all[1], all[2], all[0]};
  selection.src_count = instruction.opcode == Opcode::fma ? 3 : 2;
  selection.flags = instruction.has(Qual::satfinite) ? kFlagSatfinite : 0;
  selection.imm = pack(all);
  return true;
}

} // namespace lemma::vgpu
