// Logic and shifts: and, or, xor, not (of predicates too), cnot, lop3, shl, shr, shf; and prmt. Kernels and
// rows stand in logic.inc.
//
// PTX ISA: "Logic and Shift Instructions", "Data Movement and Conversion Instructions: prmt".
// Tests: tests/unit/vgpu/logic_test.cc.
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/select.h"

#include <immintrin.h>

namespace lemma::vgpu {
using isa::Opcode;
using isa::Qual;
using isa::Type;
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/arithmetic/logic.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {
namespace {

const RowTable& table() {
  static const LeveledTables<RowTable> tables(LEMMA_FILLS);
  return tables.now();
}

constexpr size_t kLutOperand = 4; // the immediate table of lop3

} // namespace

bool pick_logic(const ptx::Instruction& instruction, Selection& selection) {
  if (!table().pick(instruction, selection))
    return false;
  if (instruction.opcode == Opcode::lop3) {
    if (instruction.operands.size() <= kLutOperand)
      return false;
    selection.imm = static_cast<int64_t>(instruction.operands[kLutOperand].bits);
  }
  return true;
}

void add_logic_selectors(SelectorTable& selectors) {
  table().add_to(selectors);
}

} // namespace lemma::vgpu
