// Half-precision arithmetic: add, sub, mul, fma, neg, abs, min and max of f16, f16x2, bf16 and bf16x2, with
// .ftz, .sat, .relu, .oob, .NaN and .xorsign.abs. Kernels and rows stand in half.inc. ex2 and tanh are
// approximate.cc.
//
// PTX ISA: "Half Precision Floating Point Instructions". Tests: tests/unit/vgpu/half_test.cc.
#include "numeric/half.h"
#include "numeric/arithmetic.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/select.h"

#include <immintrin.h>

namespace lemma::vgpu {
using isa::Opcode;
using isa::Qual;
using isa::Type;
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/arithmetic/half.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {
namespace {

const RowTable& table() {
  static const LeveledTables<RowTable> tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace

bool pick_half(const ptx::Instruction& instruction, Selection& selection) {
  return table().pick(instruction, selection);
}

void add_half_selectors(SelectorTable& selectors) {
  table().add_to(selectors);
}

} // namespace lemma::vgpu
