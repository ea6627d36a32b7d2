// cvt between scalar types. Kernels and rows stand in convert.inc; here the modifiers of an instruction
// decide whether a kernel takes it or the exact conversion of convert_numeric.cc. Packed destinations and
// sources are convert_packed.cc.
//
// Operands may lie in registers wider than their type: a source's low bits are taken, a result is
// sign-extended if its type is a signed integer, else zero-extended.
//
// PTX ISA: "Data Movement and Conversion Instructions: cvt", "Operand Size Exceeding Instruction-Type Size".
// Tests: tests/unit/vgpu/convert_test.cc.
#include "vgpu/handlers/arithmetic/convert.h"

#include "numeric/half.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/host_mode.h"

#include <immintrin.h>
#include <type_traits>

namespace lemma::vgpu {
using isa::Opcode;
using isa::Qual;
using isa::Type;
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/arithmetic/convert.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {
namespace {

const RowTable& table() {
  static const LeveledTables<RowTable> tables(LEMMA_FILLS);
  return tables.now();
}

bool is_half(Type type) {
  return type == Type::f16 || type == Type::bf16;
}

// Whether the kernel of these types does what the modifiers ask: half-precision results are rounded to
// nearest only, and bf16 becomes f32 without .ftz only.
bool kernel_takes(Type to, Type from, const ConvertModifiers& modifiers) {
  if (!is_half(to))
    return from != Type::bf16 || to != Type::f32 || !modifiers.ftz;
  return to == from || modifiers.rounding == Qual::rn;
}

// The row of the types, and among those of integers or of one type the one for the modifiers.
std::initializer_list<Qual> row_quals(Type to, Type from, const ConvertModifiers& modifiers) {
  static constexpr std::initializer_list<Qual> kNone = {}, kSat = {Qual::sat}, kCopy = {Qual::noftz};
  if (isa::is_integer(to) && isa::is_integer(from))
    return modifiers.sat ? kSat : kNone;
  const bool plain = modifiers.rounding == Qual::none && !modifiers.ftz && !modifiers.sat;
  return plain && to == from && !is_half(to) ? kCopy : kNone;
}

} // namespace

bool pick_convert(const ptx::Instruction& instruction, Selection& selection) {
  if (instruction.opcode != Opcode::cvt || instruction.types().size() != 2)
    return false;
  const std::optional<ConvertModifiers> modifiers = modifiers_of(instruction);
  const Type to = instruction.type(0), from = instruction.type(1);
  const std::optional<ElementFormat> to_format = format_of(to), from_format = format_of(from);
  const bool scalar = to_format && from_format && to_format->elements == 1 && from_format->elements == 1;
  if (!modifiers || !scalar || to == Type::tf32) // convert_packed.cc has tf32
    return false;
  const RowKey row(Opcode::cvt, instruction.types(), row_quals(to, from, *modifiers));
  if (!kernel_takes(to, from, *modifiers) || !table().pick(row, selection))
    return pick_numeric_conversion(to, from, 1, *modifiers, selection);
  selection.flags = modifiers->flags();
  selection.imm = host_mode(modifiers->rounding, false);
  return true;
}

void add_convert_selectors(SelectorTable& selectors) {
  selectors.add({Opcode::cvt, Opcode::cvt_pack}, select_arithmetic);
}

} // namespace lemma::vgpu
