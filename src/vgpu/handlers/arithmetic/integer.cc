// Integer arithmetic: add, sub, mul, mad, mul24, mad24, sad, div, rem, abs, neg, min, max, the bit counts and
// fields, dot products of bytes, and the carry chains. Kernels and rows stand in integer.inc. Logic, shifts
// and prmt are logic.cc.
//
// PTX ISA: "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic Instructions".
// Tests: tests/unit/vgpu/integer_test.cc.
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/select.h"

#include <immintrin.h>

#include <limits>
#include <type_traits>

namespace lemma::vgpu {
using isa::Opcode;
using isa::Qual;
using isa::Type;
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/arithmetic/integer.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {
namespace {

const RowTable& table() {
  static const LeveledTables<RowTable> tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace

bool pick_integer(const ptx::Instruction& instruction, Selection& selection) {
  return table().pick(instruction, selection);
}

void add_integer_selectors(SelectorTable& selectors) {
  table().add_to(selectors);
  add_logic_selectors(selectors);
  add_video_selectors(selectors);
}

} // namespace lemma::vgpu
