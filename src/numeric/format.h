// Floating-point formats of the PTX ISA as bit patterns: what the bits of each mean, exactly, and how an
// exact value is rounded into one. Also the names of the integer formats.
//
// Does no arithmetic (arithmetic.h), no conversions as PTX spells them (convert.h) and never uses the host's
// floating point: a value is sign * significand * 2^exponent with an integer significand.
//
// PTX ISA: "Alternate Floating-Point Data Formats", "Fixed-point Data format", and cvt for the rounding
// modifiers. Tests: tests/unit/numeric/format_test.cc.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lemma::numeric {

// `ue4m3` and `ue8m0` have no sign. `tf32` is stored as the f32 it abbreviates: 32 bits, the low 13 ignored
// when read and zero when written.
enum class FloatFormat : uint8_t { f16, bf16, tf32, f32, f64, e4m3, e5m2, e2m3, e3m2, e2m1, ue8m0, ue4m3 };
inline constexpr FloatFormat kAllFloatFormats[] = {FloatFormat::f16,  FloatFormat::bf16,  FloatFormat::tf32,
                                                   FloatFormat::f32,  FloatFormat::f64,   FloatFormat::e4m3,
                                                   FloatFormat::e5m2, FloatFormat::e2m3,  FloatFormat::e3m2,
                                                   FloatFormat::e2m1, FloatFormat::ue8m0, FloatFormat::ue4m3};

enum class IntegerFormat : uint8_t { u4, s4, u8, s8, u16, s16, u32, s32, u64, s64 };

// The PTX rounding modifiers; `.rni .rzi .rmi .rpi` are the first four applied to an integer result.
enum class Rounding : uint8_t {
  rn,  // to nearest, ties to even
  rz,  // toward zero
  rm,  // toward minus infinity
  rp,  // toward plus infinity
  rna, // to nearest, ties away from zero
  rs,  // stochastic: random bits are added below the last kept bit, then the rest is dropped
};

// Which encodings are NaN.
enum class NanEncoding : uint8_t {
  none,     // every encoding is a number
  ieee,     // largest exponent, non-zero fraction; fraction zero is infinity
  all_ones, // only exponent and fraction all ones; the rest of the largest exponent are numbers
};

struct FormatTraits {
  std::string_view name;
  int storage_bits; // 4, 6, 8, 16, 32 or 64
  int exponent_bits;
  int mantissa_bits; // explicit fraction bits
  int bias;
  int padding_bits; // ignored bits below the fraction (tf32: 13)
  bool is_signed;
  bool has_zero; // false: no zero, no subnormals (ue8m0)
  NanEncoding nan;

  constexpr bool has_infinity() const { return nan == NanEncoding::ieee; }
  constexpr bool has_nan() const { return nan != NanEncoding::none; }
  constexpr int fraction_field_bits() const { return mantissa_bits + padding_bits; }
  constexpr int max_biased_exponent() const { return (1 << exponent_bits) - 1; }
  constexpr int min_exponent() const { return (has_zero ? 1 : 0) - bias; } // of normal and subnormal numbers
  constexpr uint64_t storage_mask() const {
    return storage_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << storage_bits) - 1;
  }
  constexpr uint64_t sign_mask() const {
    return is_signed ? uint64_t{1} << (exponent_bits + fraction_field_bits()) : 0;
  }
  constexpr uint64_t magnitude_mask() const {
    return (uint64_t{1} << (exponent_bits + fraction_field_bits())) - 1;
  }
  constexpr uint64_t infinity() const { return uint64_t(max_biased_exponent()) << fraction_field_bits(); }
  // The NaN that an operation makes: every magnitude bit set (0x7fffffff, 0x7fff, 0x7f, 0xff) but tf32's
  // ignored ones (0x7fffe000, measured on an H200); 0 where there is none.
  constexpr uint64_t canonical_nan() const {
    return has_nan() ? magnitude_mask() >> padding_bits << padding_bits : 0;
  }
  constexpr uint64_t max_finite() const {
    const uint64_t ulp = uint64_t{1} << padding_bits;
    switch (nan) {
    case NanEncoding::none:
      return magnitude_mask();
    case NanEncoding::ieee:
      return infinity() - ulp;
    case NanEncoding::all_ones:
      return magnitude_mask() - ulp;
    }
    return 0;
  }
  constexpr uint64_t min_normal() const { return has_zero ? uint64_t{1} << fraction_field_bits() : 0; }
};

inline constexpr FormatTraits kFormatTraits[] = {
    {"f16", 16, 5, 10, 15, 0, true, true, NanEncoding::ieee},
    {"bf16", 16, 8, 7, 127, 0, true, true, NanEncoding::ieee},
    {"tf32", 32, 8, 10, 127, 13, true, true, NanEncoding::ieee},
    {"f32", 32, 8, 23, 127, 0, true, true, NanEncoding::ieee},
    {"f64", 64, 11, 52, 1023, 0, true, true, NanEncoding::ieee},
    {"e4m3", 8, 4, 3, 7, 0, true, true, NanEncoding::all_ones},
    {"e5m2", 8, 5, 2, 15, 0, true, true, NanEncoding::ieee},
    {"e2m3", 6, 2, 3, 1, 0, true, true, NanEncoding::none},
    {"e3m2", 6, 3, 2, 3, 0, true, true, NanEncoding::none},
    {"e2m1", 4, 2, 1, 1, 0, true, true, NanEncoding::none},
    {"ue8m0", 8, 8, 0, 127, 0, false, false, NanEncoding::all_ones},
    {"ue4m3", 8, 4, 3, 7, 0, false, true, NanEncoding::all_ones},
};
constexpr const FormatTraits& traits(FloatFormat format) {
  return kFormatTraits[static_cast<size_t>(format)];
}

constexpr std::string_view to_string(FloatFormat format) {
  return traits(format).name;
}
// The one that to_string() calls so; none: there is no such format.
std::optional<FloatFormat> float_format_of(std::string_view name);
std::string_view to_string(IntegerFormat format);
constexpr int width_bits(IntegerFormat format) {
  return 4 << (static_cast<int>(format) / 2);
}
constexpr bool is_signed(IntegerFormat format) {
  return static_cast<int>(format) % 2 != 0;
}

enum class FloatClass : uint8_t { zero, finite, infinity, nan };

// What a bit pattern means. `finite` (never zero): value = (-1)^sign * significand * 2^exponent, where
// `exponent` is that of the last fraction bit: max(biased, 1) - bias - mantissa_bits, so that subnormals need
// no case of their own. `nan`: `significand` is the fraction field.
struct Decoded {
  FloatClass float_class = FloatClass::zero;
  bool sign = false;
  int exponent = 0;
  uint64_t significand = 0;
};

// Bits above storage_bits are ignored, and so are tf32's low 13 (which may turn a NaN into infinity, as it
// does in the tensor cores). The top bit of ue4m3 is ignored.
Decoded decode(FloatFormat format, uint64_t bits);

// (-1)^sign * significand * 2^exponent. The least bit may be sticky: set if anything non-zero was dropped
// below it; then the significand must have at least two more bits than the format rounded to. Below 2^126.
struct Exact {
  bool sign = false;
  int exponent = 0;
  unsigned __int128 significand = 0;
};

struct EncodeOptions {
  Rounding rounding = Rounding::rn;
  bool satfinite = false; // magnitudes above the largest finite number become it
  // Results that are tiny become zero of the same sign: those below the normal range after rounding to the
  // format's precision with an unbounded exponent. ptxas spells that boundary out for cvt.rn.ftz.f32.f64.
  bool ftz = false;
  uint32_t random = 0; // rounding rs: the random bits, right aligned
  int random_bits = 0; // rounding rs: how many there are
};

// Rounds once. Overflow gives infinity or the largest finite number as the rounding says; in a format without
// infinity but with NaN it gives NaN, in one without either the largest finite number. A negative value loses
// its sign in an unsigned format; zero becomes the smallest number of a format without zero.
uint64_t encode(FloatFormat format, const Exact& value, const EncodeOptions& options = {});

// Zero; infinity (NaN where there is none, the largest finite number where there is neither); the canonical
// NaN (the largest finite number where there is none, as the .satfinite conversions of PTX give).
uint64_t encode_zero(FloatFormat format, bool sign);
uint64_t encode_infinity(FloatFormat format, bool sign);
uint64_t encode_nan(FloatFormat format);

// The index of the highest set bit; `value` is not zero.
constexpr int highest_bit(unsigned __int128 value) {
  const uint64_t high = static_cast<uint64_t>(value >> 64);
  return high != 0 ? 127 - std::countl_zero(high) : 63 - std::countl_zero(static_cast<uint64_t>(value));
}

// significand / 2^shift, rounded to an integer; shift >= 1. For `rs` see EncodeOptions.
unsigned __int128 round_shift(unsigned __int128 significand, int shift, bool sign,
                              const EncodeOptions& options);

constexpr bool is_nan(FloatFormat format, uint64_t bits) {
  const FormatTraits& t = traits(format);
  const uint64_t magnitude = bits & t.magnitude_mask() & ~((uint64_t{1} << t.padding_bits) - 1);
  switch (t.nan) {
  case NanEncoding::none:
    return false;
  case NanEncoding::ieee:
    return magnitude > t.infinity();
  case NanEncoding::all_ones:
    return magnitude == t.magnitude_mask();
  }
  return false;
}

} // namespace lemma::numeric
