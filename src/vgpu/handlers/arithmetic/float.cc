// f32 and f64 arithmetic that the ISA defines exactly: add, sub, mul, div, fma, mad, rcp and sqrt in every
// rounding with .ftz and .sat, abs, neg, min, max, copysign, testp. The host's own unit computes it, in the
// mode of host_mode.h; kernels and rows stand in float.inc. Approximate functions are approximate.cc, half
// precision is half.cc, packed f32x2 (sm_100) is not modelled.
//
// PTX ISA: "Floating Point Instructions". Tests: tests/unit/vgpu/float_test.cc.
#include "numeric/half.h"
#include "vgpu/code/decoder.h"
#include "vgpu/handlers/arithmetic/host_mode.h"
#include "vgpu/handlers/arithmetic/select.h"

#include <immintrin.h>

namespace lemma::vgpu {
using isa::Opcode;
using isa::Qual;
using isa::Type;
} // namespace lemma::vgpu

#define LEMMA_KERNELS "vgpu/handlers/arithmetic/float.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {
namespace {

const RowTable& table() {
  static const LeveledTables<RowTable> tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace

bool pick_float(const ptx::Instruction& instruction, Selection& selection) {
  return table().pick(instruction, selection);
}

void add_float_selectors(SelectorTable& selectors) {
  table().add_to(selectors);
  add_approximate_selectors(selectors);
}

} // namespace lemma::vgpu
