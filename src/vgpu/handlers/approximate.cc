// The approximate functions: sin, cos, ex2, lg2, tanh, rsqrt and the .approx and .full forms of rcp, sqrt and
// div, for f32, f64 and half precision. Hardware looks them up in tables; here they are computed well within
// the error that the ISA states, so that results are right but not the hardware's bits, and the launch's
// report says that such a function ran. Special values (zeros, infinities, NaN, subnormals under .ftz) are as
// the ISA says. Kernels and rows stand in approximate.inc.
//
// PTX ISA: "Floating Point Instructions: div, rcp, sqrt, rsqrt, sin, cos, lg2, ex2, tanh", "Half Precision
// Floating Point Instructions: tanh, ex2". Tests: tests/unit/vgpu/approximate_test.cc.
#include "vgpu/decoder.h"
#include "vgpu/handlers/select.h"

#include <immintrin.h>

namespace lemma::vgpu {
using isa::Opcode;
using isa::Qual;
using isa::Type;
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/approximate.inc"
#include "vgpu/handlers/levels.inc"

namespace lemma::vgpu {
namespace {

const RowTable& table() {
  static const LeveledTables tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace

bool pick_approximate(const ptx::Instruction& instruction, Selection& selection) {
  return table().pick(instruction, selection);
}

void add_approximate_selectors(SelectorTable& selectors) {
  table().add_to(selectors);
}

} // namespace lemma::vgpu
