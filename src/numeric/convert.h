// Conversions between the number formats, one element each: what PTX `cvt` does, apart from packing.
//
// Packed destinations (f16x2, e4m3x2, e2m1x4 ...) are one call an element; the caller places them. Which
// pairs and modifiers an instruction may have is for the verifier; every combination has a meaning here.
//
// PTX ISA: "Data Movement and Conversion Instructions: cvt".
// Tests: tests/unit/numeric/convert_test.cc.
#pragma once

#include "numeric/format.h"

namespace lemma::numeric {

struct ConvertOptions {
  Rounding rounding = Rounding::rn;
  bool ftz = false; // see convert_float()
  bool sat = false; // floating-point results are clamped to [+0, 1], NaN becomes +0
  bool satfinite =
      false; // see EncodeOptions; NaN stays NaN where the format has one, else the largest finite number
  bool relu = false;   // negative results become +0; NaN is canonical
  uint32_t random = 0; // rounding rs
  int random_bits = 0;
  int exponent = 0; // what is converted is the value times 2^exponent; not of f32's .ftz
};

// `ftz` is of f32 inputs and outputs, and of bf16 inputs if the output is f32; not of an input that becomes
// f16, as the directed roundings show (measured on an H200: cvt.rp.ftz.f16.f32 of the least f32 gives 1).
//
// Formats narrower than 16 bits saturate whether or not `satfinite` says so where they have no infinity to
// give.
uint64_t convert_float(FloatFormat to, FloatFormat from, uint64_t bits, const ConvertOptions& options = {});

// Out of range saturates. NaN is 0, except from f64 or to a 64-bit integer, where it is the integer's top bit
// alone. Returned in the low width_bits(to), the rest zero.
uint64_t float_to_integer(IntegerFormat to, FloatFormat from, uint64_t bits, Rounding rounding,
                          bool ftz = false);

// `bits`: the low width_bits(from) count. Overflow (f16) goes to infinity or the largest number as the
// rounding says.
uint64_t integer_to_float(FloatFormat to, IntegerFormat from, uint64_t bits,
                          const ConvertOptions& options = {});

// To the low bits, sign- or zero-extended by `from`; with `sat` clamped to the range of `to`.
uint64_t integer_to_integer(IntegerFormat to, IntegerFormat from, uint64_t bits, bool sat);

// Fixed point, s2f6: an s8 of which six bits are the fraction. Out of range saturates, and NaN is the largest
// number.
uint64_t float_to_s2f6(FloatFormat from, uint64_t bits, const ConvertOptions& options = {});
uint64_t s2f6_to_float(FloatFormat to, uint64_t bits, const ConvertOptions& options = {});

// cvt with an integer rounding and a floating-point result of the same format (.rni.f32.f32). Keeps the sign
// of zero.
uint64_t round_to_integral(FloatFormat format, uint64_t bits, Rounding rounding, bool ftz = false,
                           bool sat = false);

// How many random bits each element of a .rs conversion to `to` gets: 13 for f16, 16 for the others. That the
// narrow formats use all 16 of their half of rbits is our reading of the ISA; no hardware has checked it.
int stochastic_bits(FloatFormat to);

} // namespace lemma::numeric
