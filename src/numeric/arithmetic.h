// Scalar floating-point arithmetic of the PTX ISA on bit patterns: add, sub, mul, fma, div, sqrt, rcp, min,
// max, abs, neg and comparison for f16, bf16, f32 and f64 (tf32 and the narrow formats work too, though PTX
// has no such instruction).
//
// Every result is rounded once and exact to the bit. Packed forms (f16x2 ...) are two calls. The approximate
// functions
// (.approx, ex2, lg2, sin, tanh) are not here: they are tables of the hardware, not arithmetic.
//
// PTX ISA: "Floating Point Instructions", "Half Precision Floating Point Instructions".
// Tests: tests/unit/numeric/arithmetic_test.cc.
#pragma once

#include "numeric/format.h"

namespace lemma::numeric {

struct ArithmeticOptions {
  Rounding rounding = Rounding::rn;
  bool ftz = false;       // subnormal inputs and results become zero of the same sign (f32, f16)
  bool sat = false;       // clamp to [+0, 1]; NaN becomes +0
  bool relu = false;      // negative results become +0; NaN stays, canonical
  bool oob = false;       // fma of f16 and bf16: a multiplicand that is_oob_nan makes the result +0
  bool satfinite = false; // magnitudes above the largest finite number become it, infinity too
};

// What a tensor copy that fills with NaN writes beyond the bounds of a tensor of f16 or bf16, and .oob knows.
// Measured on an H200, all 65536 values as a, b and c of fma.rn.oob{.relu} of f16 and bf16: 0x7ff7 and 0xfff7
// as a or b give +0; every other NaN, and these as c, is a NaN like any other.
inline constexpr uint16_t kOobNan = 0x7ff7;
constexpr bool is_oob_nan(uint64_t bits) {
  return (bits & 0x7fff) == kOobNan;
}

uint64_t add(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options = {});
uint64_t sub(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options = {});
uint64_t mul(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options = {});
// a * b + c, rounded once.
uint64_t fma(FloatFormat format, uint64_t a, uint64_t b, uint64_t c, const ArithmeticOptions& options = {});
// Of operands in formats of their own, rounded once to `to`; neither .ftz nor .oob.
struct Operand {
  FloatFormat format;
  uint64_t bits;
};
uint64_t add_mixed(FloatFormat to, Operand a, Operand b, const ArithmeticOptions& options = {});
uint64_t mul_mixed(FloatFormat to, Operand a, Operand b, const ArithmeticOptions& options = {});
uint64_t fma_mixed(FloatFormat to, Operand a, Operand b, Operand c, const ArithmeticOptions& options = {});
uint64_t div(FloatFormat format, uint64_t a, uint64_t b, const ArithmeticOptions& options = {});
uint64_t rcp(FloatFormat format, uint64_t a, const ArithmeticOptions& options = {});
uint64_t sqrt(FloatFormat format, uint64_t a, const ArithmeticOptions& options = {});

struct MinMaxOptions {
  bool ftz = false;
  bool nan = false;         // .NaN: a NaN input gives the canonical NaN; else the other input
  bool xorsign_abs = false; // .xorsign.abs: of the magnitudes, with the exclusive or of the input signs
};

// -0 is less than +0. Two NaN inputs give the canonical NaN.
uint64_t min(FloatFormat format, uint64_t a, uint64_t b, const MinMaxOptions& options = {});
uint64_t max(FloatFormat format, uint64_t a, uint64_t b, const MinMaxOptions& options = {});

// Only the sign bit, and the flush of .ftz; of a NaN what nan_result() gives.
uint64_t abs(FloatFormat format, uint64_t a, bool ftz = false);
uint64_t neg(FloatFormat format, uint64_t a, bool ftz = false);

enum class Ordering : uint8_t { less, equal, greater, unordered };
// -0 equals +0.
Ordering compare(FloatFormat format, uint64_t a, uint64_t b, bool ftz = false);

// A subnormal becomes zero of the same sign; everything else stays.
uint64_t flush_subnormal(FloatFormat format, uint64_t bits);

// The NaN that an operation gives; the one place that says so. `operands` in the order in which their NaNs
// are preferred, at least one NaN; or none, if the operation is invalid.
uint64_t nan_result(FloatFormat format, const uint64_t* operands, int count);

} // namespace lemma::numeric
