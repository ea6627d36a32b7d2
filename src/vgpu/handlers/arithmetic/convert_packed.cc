// cvt with packed operands (f16x2, bf16x2, fp8 pairs), to tf32, and cvt.pack. Kernels and rows stand in
// convert_packed.inc; what they do not take goes to convert_numeric.cc.
//
// PTX ISA: "Data Movement and Conversion Instructions: cvt, cvt.pack". Tests:
// tests/unit/vgpu/convert_test.cc.
#include "numeric/half.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/convert.h"

#include <array>
#include <immintrin.h>

namespace lemma::vgpu {

using isa::Opcode;
using isa::Qual;
using isa::Type;

namespace {

using numeric::FloatFormat;

std::array<uint16_t, 256> make_halves(FloatFormat from) {
  std::array<uint16_t, 256> table{};
  for (size_t bits = 0; bits < table.size(); ++bits)
    table[bits] = static_cast<uint16_t>(numeric::convert_float(FloatFormat::f16, from, bits));
  return table;
}
const std::array<uint16_t, 256>& halves_of_e4m3() {
  static const std::array<uint16_t, 256> table = make_halves(FloatFormat::e4m3);
  return table;
}
const std::array<uint16_t, 256>& halves_of_e5m2() {
  static const std::array<uint16_t, 256> table = make_halves(FloatFormat::e5m2);
  return table;
}

} // namespace
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/arithmetic/convert_packed.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {
namespace {

const RowTable& table() {
  static const LeveledTables<RowTable> tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace

bool pick_convert_packed(const ptx::Instruction& instruction, Selection& selection) {
  if (instruction.opcode == Opcode::cvt_pack)
    return table().pick(instruction, selection);
  if (instruction.opcode != Opcode::cvt || instruction.types().size() != 2)
    return false;
  const std::optional<ConvertModifiers> modifiers = modifiers_of(instruction);
  const Type to = instruction.type(0), from = instruction.type(1);
  const std::optional<ElementFormat> to_format = format_of(to), from_format = format_of(from);
  if (!modifiers || !to_format || !from_format)
    return false;
  if (!table().pick({Opcode::cvt, instruction.types(), std::span(&modifiers->rounding, 1)}, selection))
    return pick_numeric_conversion(to, from, to_format->elements / from_format->elements, *modifiers,
                                   selection);
  selection.flags = modifiers->flags();
  return true;
}

} // namespace lemma::vgpu
