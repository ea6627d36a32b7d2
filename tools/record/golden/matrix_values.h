// Operands of matrix instructions: one warp's A, B and C for each class of operands, chosen so that the sums
// of products do what the class is named for.
//
//   ordinary    magnitudes near one
//   wide        half the warps: exponents over the format's whole range; the others: a window of exponents,
//               with C in the products' range, so that alignment and truncation matter in every output
//   cancelling  products come in pairs that nearly cancel, C is small
//   subnormal   A subnormal; B subnormal too or large; C about the smallest normal number
//   special     from one in two to one in 64 elements special, by warp; the others ordinary or wide
//
// Elements lie as the caller wants: what pairs up are neighbours in the order of the array, which are
// neighbours in K in the registers of every fragment and in K-major tiles.
//
// Tests: tests/unit/golden/.
#pragma once

#include "golden/values.h"

namespace lemma::golden {

struct MatrixOperands {
  std::vector<uint64_t> a, b, c;
};

// Element formats, one lane each, all floating or all integer; `count_*`: elements of one warp.
struct MatrixFormats {
  Values a, b, c;
  size_t count_a = 0, count_b = 0, count_c = 0;
};

// Of types below 8 bits a plane has bytes: two elements of 4 bits, the first in the low half, or eight single
// bits, which are generated as one number. How many numbers there are for so many elements, and the plane's
// elements for the numbers.
size_t numbers_of(isa::Type type, size_t elements);
std::vector<uint64_t> plane_elements(isa::Type type, std::vector<uint64_t> numbers);

// The class whose name a case's part has.
numeric::OperandClass operand_class(std::string_view name);
MatrixOperands make_matrix_operands(const MatrixFormats& formats, numeric::OperandClass operand_class,
                                    numeric::Random& random);

} // namespace lemma::golden
