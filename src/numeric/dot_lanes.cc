// The gate to the loops of dot_lanes.inc: which models and tiles they take (formats of 8 to 32 bits, sums of
// a step in 32 bits, no scales, no sparse A) and which operand's rows become lanes: B's, so that rows of C
// and D are vectors, or A's where B's do not fill them. One section a host level, as in dot_floats.cc.
#include "numeric/dot_lanes.h"

#include "numeric/dot_internal.h"

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

namespace lemma::numeric::internal {
namespace {

constexpr int kLanes = 16;
constexpr int kMaxK = 64;
constexpr int kMaxWide = 32;   // rows of the operand whose rows are lanes
constexpr int kMaxNarrow = 32; // rows of the operand whose elements are broadcast

// What the loops need of a float format of up to 11 significand bits, or of an accumulator.
struct LaneFormat {
  int padding_bits, mantissa_bits, bias;
  int32_t magnitude_mask, first_special; // magnitudes from here on are NaNs and infinities
  explicit LaneFormat(FloatFormat format) {
    const FormatTraits& t = traits(format);
    padding_bits = t.padding_bits;
    mantissa_bits = t.mantissa_bits;
    bias = t.bias;
    magnitude_mask = static_cast<int32_t>(t.magnitude_mask() >> t.padding_bits);
    first_special = static_cast<int32_t>(t.max_finite() >> t.padding_bits) + 1;
  }
};

// One tile: D[w][s] of kLanes rows w of the `wide` operand at a time and each row s of the `narrow` one.
// Which of A and B is which makes no difference to the arithmetic.
struct LaneTile {
  const void* wide;   // [wide_rows][k]
  const void* narrow; // [narrow_rows][k]
  int wide_rows, narrow_rows, k;
  int element_bytes; // of both: 1, 2 or 4
  LaneFormat wide_format, narrow_format;
  const void* c; // element (w, s) at w * wide_stride + s * narrow_stride; may be null
  void* d;
  int wide_stride, narrow_stride;
  LaneFormat c_format; // after widening
  bool widens_c;       // from f16 to f32
  int c_bytes, d_bytes;
  int step_k;
  int fraction_bits;
  int kept_mask; // of an f32 result
};

// The loops of a level; null: there are none.
using Loops = bool (*)(const LaneTile& tile);

} // namespace
} // namespace lemma::numeric::internal

#ifdef LEMMA_DOT_BASELINE
namespace lemma::numeric::internal::baseline {
namespace {
constexpr int kLanes = 4;
constexpr bool kFastShuffles = true; // of any two vectors
#include "numeric/dot_vectors.inc"
// (the order matters)
#include "numeric/dot_lanes.inc"
} // namespace
} // namespace lemma::numeric::internal::baseline
#endif

#ifdef LEMMA_DOT_X86
#include <immintrin.h>

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX2
namespace lemma::numeric::internal::avx2 {
namespace {
constexpr int kLanes = 8;
constexpr bool kFastShuffles = true;
#include "numeric/dot_vectors.inc"
// (the order matters)
#include "numeric/dot_lanes.inc"
} // namespace
} // namespace lemma::numeric::internal::avx2
#pragma GCC pop_options

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX512
namespace lemma::numeric::internal::avx512 {
namespace {
constexpr bool kFastShuffles = true;
#define LEMMA_LANES_AVX512
#include "numeric/dot_vectors.inc"
// (the order matters)
#include "numeric/dot_lanes.inc"
#undef LEMMA_LANES_AVX512
} // namespace
} // namespace lemma::numeric::internal::avx512
#pragma GCC pop_options
#endif

namespace lemma::numeric::internal {
namespace {

Loops loops_of(DotLevel level) {
  switch (without_integers(level)) {
#ifdef LEMMA_DOT_BASELINE
  case DotLevel::baseline:
    return baseline::run_fused;
#endif
#ifdef LEMMA_DOT_X86
  case DotLevel::avx2:
    return avx2::run_fused;
  case DotLevel::avx512:
    return avx512::run_fused;
#endif
  default:
    return nullptr;
  }
}

bool is_multiplicand(FloatFormat format) {
  return format == FloatFormat::f16 || format == FloatFormat::bf16 || format == FloatFormat::tf32 ||
         format == FloatFormat::e4m3 || format == FloatFormat::e5m2;
}

bool is_wide(int rows) {
  return rows % kLanes == 0 && rows <= kMaxWide;
}

// Sums of a step in 32 bits: products are below 4, the accumulator below 2. (An accumulator on top of the
// largest products may overflow; the loops notice.)
bool fits_32_bits(int fraction_bits, int product_bits, int step_k) {
  return fraction_bits >= product_bits && (int64_t{4} << fraction_bits) * step_k <= int64_t{1} << 31;
}

} // namespace

bool dot_fused_lanes(const DotModel& model, const DotRows& rows) {
  const Loops run = loops_of(dot_level());
  const int step_k = model.max_fused_k == 0 ? rows.k : std::min(model.max_fused_k, rows.k);
  if (!run || model.scheme != DotScheme::fused || rows.a_index || rows.scale_a || rows.scale_b ||
      !is_multiplicand(model.a) || !is_multiplicand(model.b) ||
      element_bytes(model.a) != element_bytes(model.b) || rows.k > kMaxK ||
      !fits_32_bits(model.fraction_bits, traits(model.a).mantissa_bits + traits(model.b).mantissa_bits,
                    step_k))
    return false;
  if (model.rounding != (model.d == FloatFormat::f16 ? Rounding::rn : Rounding::rz))
    return false;
  const bool wide_b = is_wide(rows.n) && rows.m <= kMaxNarrow; // rows of C and D are then vectors
  const bool wide_a = !wide_b;
  if (wide_a && (!is_wide(rows.m) || rows.n > kMaxNarrow))
    return false;
  if ((wide_a ? rows.n : rows.m) * rows.k % kLanes != 0)
    return false;
  const int stride = static_cast<int>(rows.stride);
  const int dropped = model.d == FloatFormat::f32 ? 23 - model.kept_fraction_bits : 0;
  const LaneTile lanes{.wide = wide_a ? rows.a : rows.b,
                       .narrow = wide_a ? rows.b : rows.a,
                       .wide_rows = wide_a ? rows.m : rows.n,
                       .narrow_rows = wide_a ? rows.n : rows.m,
                       .k = rows.k,
                       .element_bytes = element_bytes(model.a),
                       .wide_format = LaneFormat(wide_a ? model.a : model.b),
                       .narrow_format = LaneFormat(wide_a ? model.b : model.a),
                       .c = rows.c,
                       .d = rows.d,
                       .wide_stride = wide_a ? stride : 1,
                       .narrow_stride = wide_a ? 1 : stride,
                       .c_format = LaneFormat(widens_c(model) ? model.d : model.c),
                       .widens_c = widens_c(model),
                       .c_bytes = element_bytes(model.c),
                       .d_bytes = element_bytes(model.d),
                       .step_k = step_k,
                       .fraction_bits = model.fraction_bits,
                       .kept_mask = -1 << dropped};
  return run(lanes);
}

} // namespace lemma::numeric::internal
