// Which multiplications (and divisions) and additions may ptxas make one fma of?
//
// PTX lets an assembler do so where neither says how it rounds ("mul/add sequences with no rounding modifiers
// may be optimized to use fused-multiply-add"): the GPU then rounds once, the virtual GPU twice. ptxas 13
// does it, for every type, if
//   - the product comes from a mul that has neither a rounding, nor .sat, nor a guard; or from a div.approx,
//     div.full or rcp.approx.f32 without a guard, whose code ends with such a multiplication;
//   - everything that takes it, directly or by way of mov and neg, is an add or sub of the same type without
//     a rounding, with .ftz if the mul has it; these may be guarded and have .sat. Both operands of one are
//     not the same product;
//   - it gets there within a basic block. Blocks are joined and loops unrolled before, so that is not asked
//     here.
// Of f32x2, .rn does not keep it from doing so, nor does its option -fmad=false (seen in its code for
// sm_100a).
//
// Seen in code that ptxas 13.0 made for sm_90a and sm_100a, and in what an H200 computed:
// tests/verify/fusion_test.cc. Not seen here: products that come out of a function that ptxas inlines.
//
// PTX ISA: "Floating Point Instructions: mul, add, sub", "Half Precision Floating Point Instructions". Linear
// in the module's size, but for a sort.
#pragma once

#include "ptx/module.h"
#include "support/diagnostic.h"

#include <cstdint>
#include <vector>

namespace lemma::verify {

// Of a sum that might take either of two products, the first operand's; so no instruction is in two of them
// as a sum.
struct Fusion {
  uint32_t function; // index into Module::functions
  uint32_t product;  // the mul, div or rcp, and the add or sub: indices into its instructions
  uint32_t sum;
};

// In the order of the text.
std::vector<Fusion> possible_fusions(const ptx::Module& module);

// A warning at the sum.
Diagnostic describe(const ptx::Module& module, const Fusion& fusion);

} // namespace lemma::verify
