// What the loops of dot_floats.inc need before they run: describe() turns a plan into a FloatTile, or
// says that the loops have no way. Read it first, then FloatWay. The middle is one
// section a host level, which names its width and includes dot_vectors.inc, the level's own operations
// (dot_baseline.inc, dot_avx2.inc, or here for AVX-512), dot_blocks.inc, dot_floats.inc,
// dot_floats_exact.inc, for AVX-512 dot_floats_cells.inc and dot_floats_coarse.inc, and dot_floats_run.inc,
// in this order. The loops ask each block whether f32 carries it exactly; LeaveBlock hands over those that it
// does not.
#include "numeric/dot_floats.h"

#include "numeric/dot_internal.h"
#include "numeric/dot_levels.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>
#include <utility>

namespace lemma::numeric::internal {
namespace {

constexpr int kLanes = 16;
constexpr int kBlockLanes = 64;
[[maybe_unused]] constexpr int kPackedLanes = 16; // of blocks that put rows side by side
constexpr int kMaxK = kMaxFloatK;
constexpr int kScaleBias = 127; // of ue8m0

// How an element becomes an f32.
struct Element {
  int bytes;
  bool is_bf16;
  bool is_wide_range;     // exponents as f32's
  int32_t least_field;    // biased exponent, as f32's, that subnormals keep
  int32_t magnitude_mask; // of one byte; of four also the sign
  // One byte: to the f16 with the same fields, which is the number but for a factor.
  int32_t first_special = 0;
  int half_shift = 0, sign_shift = 0;
  float factor = 1;
};

// An operand of a block, K-major.
struct Decoded {
  alignas(64) float numbers[kMaxK][kBlockLanes];
  alignas(64) uint8_t exponents[kMaxK][kBlockLanes]; // signed, as the rule takes them; -128: zero
};

// The signs of its numbers, a bit of a byte for each of eight along K; of a zero neither.
struct Signs {
  alignas(64) uint8_t negative[kMaxK / 8][kBlockLanes], positive[kMaxK / 8][kBlockLanes];
};

// What of a decoded operand's exponents matters: biased as f32's.
struct Extent {
  int32_t lowest = 255; // of an element that is not zero
  int32_t highest = 0;  // 255: a NaN or an infinity
};

// All numbers of a block are whole multiples of 2^unit, and their exponents, as the rule takes them, below
// unit + bits.
struct Grid {
  int32_t unit = 0;
  int32_t bits = 64; // none is known
};

// Up to kBlockLanes rows of an operand.
struct Block {
  Decoded decoded;
  Extent extent;
  Grid grid;
  bool has_exponents, has_signs; // else they are found where they are looked at
  Signs signs;
};

// DotScratch::Use::loops.
struct Workspace {
  static constexpr int kMostWide = 4; // blocks that are kept for all of `narrow`; of more, one at a time
  Block wide[kMostWide], narrow;
};

enum class Accumulator : uint8_t {
  f32,
  f16,
  f16_widened, // to f32, before it is a term
};

// Which of A and B is `wide` and which `narrow` makes no difference to the arithmetic. A plan has one,
// without where the matrices lie.
struct FloatTile {
  const std::byte *wide = nullptr, *narrow = nullptr; // [rows][k]
  int wide_rows, narrow_rows, k;
  Element wide_element, narrow_element;
  const uint8_t *wide_scales = nullptr,
                *narrow_scales = nullptr; // [rows][scales_in_row], powers of two as ue8m0
  int scales_in_row;                      // 0: none
  uint8_t order[kMaxK];                   // where element k comes in the steps
  const std::byte* c = nullptr; // element (w, s) at w * wide_stride + s * narrow_stride; may be null
  std::byte* d = nullptr;
  int wide_stride, narrow_stride;
  std::byte* const* blocks = nullptr;         // C and D in place of those, if not null: DotBlocks
  const std::byte* const* c_blocks = nullptr; // null: C is zeros
  OperandBlocks wide_blocks, narrow_blocks;   // in place of `wide` and `narrow`
  Accumulator c_kind, d_kind;
  int c_bytes, d_bytes;
  int step_k;
  int sum_k;        // products whose sum fits 32 bits for certain
  bool adds_c_last; // the steps start from zero
  int fraction_bits;
  int kept_bits;       // significant ones of an f32 result
  int32_t kept_mask;   // of one
  int32_t least_field; // biased exponent of a largest term that the loops do not look below
  bool has_tiny_products = false;
  bool wide_is_a = false;
  const Block* arranged = nullptr; // all blocks of `wide`, or null
};

// What a block that the loops left needs: lanes [lane, lane + lanes), rows [row, row + rows).
struct LeaveBlock {
  const DotPlan& plan;
  const DotTile& tile;
  DotScratch& scratch;
  bool wide_is_a;
  MatrixOutputs& paths;
  void operator()(int lane, int lanes, int row, int rows) const;
};

// The loops of a level; null: there are none.
struct FloatLoops {
  void (*run)(FloatTile& tile, Workspace& workspace, const LeaveBlock& leave) = nullptr;
  void (*arrange)(const FloatTile& tile, Block* out) = nullptr; // all blocks of `wide`
};

} // namespace
} // namespace lemma::numeric::internal

#ifdef LEMMA_DOT_BASELINE
#ifdef __SSE2__
#include <emmintrin.h>
#endif
namespace lemma::numeric::internal::baseline {
namespace {
constexpr int kLanes = 4;
constexpr bool kFastShuffles = true; // of any two vectors
constexpr int kRows = 4;             // of the narrow operand at a time: what registers hold
#include "numeric/dot_vectors.inc"
// (the order matters)
#include "numeric/dot_baseline.inc"
// (the order matters)
#include "numeric/dot_blocks.inc"
// (the order matters)
#include "numeric/dot_floats.inc"
// (the order matters)
#include "numeric/dot_floats_exact.inc"
// (the order matters)
#include "numeric/dot_floats_run.inc"
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
constexpr int kRows = 4;
#include "numeric/dot_vectors.inc"
// (the order matters)
#include "numeric/dot_avx2.inc"
// (the order matters)
#include "numeric/dot_blocks.inc"
// (the order matters)
#include "numeric/dot_floats.inc"
// (the order matters)
#include "numeric/dot_floats_exact.inc"
// (the order matters)
#include "numeric/dot_floats_run.inc"
} // namespace
} // namespace lemma::numeric::internal::avx2
#pragma GCC pop_options

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX512
namespace lemma::numeric::internal::avx512 {
namespace {
constexpr bool kFastShuffles = true;
constexpr int kRows = 8;
#define LEMMA_LANES_AVX512
#include "numeric/dot_vectors.inc"
// The forms with masks where g++ 12 warns of undefined lanes of the others.
using Exponents = __m512i;
[[gnu::always_inline]] inline Exponents load_exponents(const void* from) {
  return _mm512_load_si512(from);
}
[[gnu::always_inline]] inline void store_exponents(void* to, Exponents exponents) {
  _mm512_storeu_si512(to, exponents);
}
[[gnu::always_inline]] inline Exponents all_exponents(int value) {
  return _mm512_set1_epi8(static_cast<char>(value));
}
[[gnu::always_inline]] inline Exponents broadcast_exponent(const uint8_t* from) {
  return _mm512_set1_epi8(static_cast<char>(*from));
}
[[gnu::always_inline]] inline Exponents repeat_lanes(const uint8_t* from) {
  __m128i lanes;
  std::memcpy(&lanes, from, sizeof(lanes));
  return _mm512_maskz_broadcast_i32x4(0xffff, lanes);
}
// Byte i of the four to lanes 16 i onwards.
[[gnu::always_inline]] inline Exponents spread_rows(const uint8_t* from) {
  int32_t rows;
  std::memcpy(&rows, from, sizeof(rows));
  const __m512i which = _mm512_set_epi64(0x0303030303030303, 0x0303030303030303, 0x0202020202020202,
                                         0x0202020202020202, 0x0101010101010101, 0x0101010101010101, 0, 0);
  return _mm512_shuffle_epi8(_mm512_set1_epi32(rows), which);
}
[[gnu::always_inline]] inline Exponents max_of_sums(Exponents largest, Exponents a, Exponents b) {
  return _mm512_max_epi8(largest, _mm512_adds_epi8(a, b));
}
// Biased exponents of 16 numbers, a byte each.
using Fields = __m128i;
[[gnu::always_inline]] inline Fields low_bytes(Ints values) {
  return _mm512_maskz_cvtepi32_epi8(0xffff, (__m512i)values);
}
[[gnu::always_inline]] inline void store_bytes(uint8_t* to, Fields fields) {
  std::memcpy(to, &fields, sizeof(fields));
}
// Biased exponents, as f32's, to the rule's: subnormals keep their format's least; a zero's is -128.
[[gnu::always_inline]] inline Fields unbiased(Fields fields, int32_t least_field) {
  const Fields zero = _mm_cmpeq_epi8(fields, _mm_setzero_si128());
  const Fields least = _mm_set1_epi8(static_cast<char>(least_field));
  const Fields number = _mm_sub_epi8(_mm_max_epu8(fields, least), _mm_set1_epi8(127));
  return _mm_or_si128(_mm_andnot_si128(zero, number), _mm_and_si128(zero, _mm_set1_epi8(-128)));
}
[[gnu::always_inline]] inline Ints widen_exponents(const int8_t* from) {
  __m128i bytes;
  std::memcpy(&bytes, from, sizeof(bytes));
  return (Ints)_mm512_maskz_cvtepi8_epi32(0xffff, bytes);
}
[[gnu::always_inline]] inline Floats floats_from_halves(Ints bits) {
  return (Floats)_mm512_maskz_cvtph_ps(0xffff, _mm512_maskz_cvtepi32_epi16(0xffff, (__m512i)bits));
}
[[gnu::always_inline]] inline Ints halves_from_floats(Floats numbers) {
  return (Ints)_mm512_maskz_cvtepu16_epi32(
      0xffff, _mm512_maskz_cvtps_ph(0xffff, (__m512)numbers, _MM_FROUND_TO_NEAREST_INT));
}
[[gnu::always_inline]] inline void add_products(Floats& sum, Floats a, float b) {
  sum = (Floats)_mm512_fmadd_ps((__m512)a, _mm512_set1_ps(b), (__m512)sum);
}
#include "numeric/dot_blocks.inc"
// (the order matters)
#include "numeric/dot_floats.inc"
// (the order matters)
#include "numeric/dot_floats_exact.inc"
// (the order matters)
#include "numeric/dot_floats_cells.inc"
// (the order matters)
#include "numeric/dot_floats_coarse.inc"
// (the order matters)
#include "numeric/dot_floats_run.inc"
#undef LEMMA_LANES_AVX512
} // namespace
} // namespace lemma::numeric::internal::avx512
#pragma GCC pop_options
#endif

namespace lemma::numeric::internal {
namespace {

void LeaveBlock::operator()(int lane, int lanes, int row, int rows) const {
  const DotArea area =
      wide_is_a ? DotArea{lane, lanes, row, rows} : DotArea{.i = row, .m = rows, .j = lane, .n = lanes};
  paths += run_rest(plan, tile, scratch, area);
}

std::optional<Element> element_of(FloatFormat format, bool as_f16) {
  const FormatTraits& t = traits(format);
  switch (format) {
  case FloatFormat::f16:
    return Element{
        .bytes = 2, .is_bf16 = false, .is_wide_range = false, .least_field = 127 - 14, .magnitude_mask = 0};
  case FloatFormat::bf16:
    return Element{.bytes = 2, .is_bf16 = true, .is_wide_range = true, .least_field = 1, .magnitude_mask = 0};
  case FloatFormat::tf32:
    return Element{.bytes = 4,
                   .is_bf16 = false,
                   .is_wide_range = true,
                   .least_field = 1,
                   .magnitude_mask = -1 << t.padding_bits};
  case FloatFormat::e4m3:
  case FloatFormat::e5m2:
  case FloatFormat::e2m3:
  case FloatFormat::e3m2:
  case FloatFormat::e2m1:
    break;
  default:
    return std::nullopt;
  }
  return Element{.bytes = 1,
                 .is_bf16 = false,
                 .is_wide_range = false,
                 .least_field = 127 + traits(as_f16 ? FloatFormat::f16 : format).min_exponent(),
                 .magnitude_mask = static_cast<int32_t>(t.magnitude_mask()),
                 .first_special = static_cast<int32_t>(t.max_finite()) + 1,
                 .half_shift = 10 - t.mantissa_bits,
                 .sign_shift = 15 - (t.exponent_bits + t.mantissa_bits),
                 .factor = static_cast<float>(1 << (15 - t.bias))};
}

FloatLoops loops_of(DotLevel level) {
  switch (without_integers(level)) {
#ifdef LEMMA_DOT_BASELINE
  case DotLevel::baseline:
    return {baseline::run_floats, baseline::arrange_wide};
#endif
#ifdef LEMMA_DOT_X86
  case DotLevel::avx2:
    return {avx2::run_floats, avx2::arrange_wide};
  case DotLevel::avx512:
    return {avx512::run_floats, avx512::arrange_wide};
#endif
  default:
    return {};
  }
}

// With others, which a NaN is among, products may leave what f32 and a byte for the exponent hold.
bool usual_scales(const uint8_t* scales, int count) {
  return std::all_of(scales, scales + count,
                     [](uint8_t scale) { return scale >= kScaleBias - 64 && scale <= kScaleBias + 15; });
}

// Where element k of so many comes in the steps.
void put_in_order(const FloatTile& tile, int stride_k, uint8_t* order) {
  const int pair = 2 * stride_k, quad = 2 * pair; // of which split_quad takes the one pair in one step
  for (int k = 0; k < tile.k; ++k)
    order[k] = static_cast<uint8_t>(
        tile.adds_c_last ? k / quad * pair + k % pair + (k % quad >= pair ? tile.step_k : 0) : k);
}

// The steps along K; false where the loops do not take such ones. They are of stored elements: of a sparse A
// every other one, group by group, is a zero.
bool describe_steps(const DotModel& model, const DotShape& shape, FloatTile& out) {
  const bool split = model.scheme == DotScheme::split_quad;
  out.k = shape.columns_of_b();
  const int stride_k = out.k / shape.k;
  const int stored_step = split                    ? shape.k / 2
                          : model.max_fused_k == 0 ? shape.k
                                                   : std::min(model.max_fused_k, shape.k);
  if ((split && shape.k % 4 != 0) || (stride_k != 1 && stored_step % 2 != 0))
    return false;
  out.step_k = stored_step * stride_k;
  // Products are below 4, the accumulator below 2; the loops notice when sums that fit overflow together.
  if (model.fraction_bits > 25)
    return false;
  out.sum_k = (1 << (29 - model.fraction_bits)) * stride_k;
  out.adds_c_last = split;
  put_in_order(out, stride_k, out.order);
  return true;
}

void describe_outputs(const DotModel& model, FloatTile& out) {
  const bool to_half = model.d == FloatFormat::f16;
  out.c_kind = model.c == FloatFormat::f32 ? Accumulator::f32
               : widens_c(model)           ? Accumulator::f16_widened
                                           : Accumulator::f16;
  out.d_kind = to_half ? Accumulator::f16 : Accumulator::f32;
  out.c_bytes = element_bytes(model.c);
  out.d_bytes = element_bytes(model.d);
  out.fraction_bits = model.fraction_bits;
  out.kept_bits = model.kept_fraction_bits + 1;
  out.kept_mask = to_half ? -1 : -1 << (23 - model.kept_fraction_bits);
  // A result is at least 2^(exponent - F): a normal number of f32. And zeros' exponents, -128 plus at most
  // 20, are below.
  out.least_field = std::max(127 - 100, model.fraction_bits + 1);
}

// What the loops need of the plan; false where they have no way to compute by it.
bool describe(const DotPlan& plan, FloatTile& out) {
  const DotModel& model = plan.model();
  const DotShape& shape = plan.shape();
  const bool split = model.scheme == DotScheme::split_quad;
  const auto a = element_of(model.a, split), b = element_of(model.b, split);
  const bool to_half = model.d == FloatFormat::f16;
  const int k = shape.columns_of_b();
  if (!a || !b || k > kMaxK || (shape.is_sparse() && !may_be_dense(plan)))
    return false;
  if ((k * a->bytes) % 4 != 0 || (k * b->bytes) % 4 != 0 ||
      (model.scale_block != 0 && model.scale != FloatFormat::ue8m0))
    return false;
  if (model.rounding != (to_half ? Rounding::rn : Rounding::rz) || (to_half && model.c != FloatFormat::f16))
    return false;
  if (!describe_steps(model, shape, out))
    return false;
  describe_outputs(model, out);
  out.scales_in_row = model.scale_block != 0 ? shape.k / model.scale_block : 0;
  // Rows of B are lanes, so that rows of C and D are vectors, unless that leaves lanes unused.
  out.wide_is_a = shape.n % kLanes != 0 && shape.n < kBlockLanes && shape.m % kLanes == 0;
  if (out.wide_is_a && plan.layout().blocks != DotBlocks::none)
    return false;
  const int stride = static_cast<int>(plan.row_stride());
  out.wide_rows = out.wide_is_a ? shape.m : shape.n;
  out.narrow_rows = out.wide_is_a ? shape.n : shape.m;
  out.wide_element = out.wide_is_a ? *a : *b;
  out.narrow_element = out.wide_is_a ? *b : *a;
  out.wide_stride = out.wide_is_a ? stride : 1;
  out.narrow_stride = out.wide_is_a ? 1 : stride;
  return true;
}

class FloatWay final : public DotWay {
public:
  FloatWay(const FloatLoops& loops, DotLevel level, const FloatTile& lanes)
      : loops_(loops), level_(level), lanes_(lanes) {}

  bool run(const DotPlan& plan, const DotTile& tile, DotScratch& scratch,
           MatrixOutputs& paths) const override {
    const DotShape& shape = plan.shape();
    if (lanes_.scales_in_row != 0 && !(usual_scales(tile.scale_a, shape.m * lanes_.scales_in_row) &&
                                       usual_scales(tile.scale_b, shape.n * lanes_.scales_in_row)))
      return false;
    FloatTile lanes = lanes_;
    if (!place_operands(plan, tile, scratch, lanes))
      return false;
    place_outputs(plan, tile, lanes);
    MatrixOutputs left;
    loops_.run(lanes, *scratch.make<Workspace>(DotScratch::Use::loops),
               {plan, tile, scratch, lanes.wide_is_a, left});
    left.vector += shape.outputs() - left.total();
    paths += left;
    return true;
  }

  void arrange(const DotPlan& plan, const DotTile& tile, ArrangedB::Content& out) const override {
    if (lanes_.wide_is_a ||
        (lanes_.scales_in_row != 0 && !usual_scales(tile.scale_b, plan.shape().n * lanes_.scales_in_row)))
      return;
    FloatTile lanes = lanes_;
    lanes.wide = tile.b.rows();
    lanes.wide_scales = tile.scale_b;
    const int blocks = (lanes.wide_rows + kBlockLanes - 1) / kBlockLanes;
    loops_.arrange(lanes,
                   out.make<Block>(ArrangedB::Content::Form::floats, level_, static_cast<size_t>(blocks)));
  }

private:
  // False where the A of a sparse product has no dense form.
  bool place_operands(const DotPlan& plan, const DotTile& tile, DotScratch& scratch, FloatTile& lanes) const {
    if (plan.layout().blocks == DotBlocks::all) {
      lanes.wide_blocks = blocks_of_b(plan, tile); // whose rows are lanes
      lanes.narrow_blocks = blocks_of_a(plan, tile);
      return true;
    }
    const std::byte* a = plan.shape().is_sparse() ? dense_a(plan, tile, scratch) : tile.a.rows();
    const std::byte* b = tile.b.rows();
    lanes.wide = lanes.wide_is_a ? a : b;
    lanes.narrow = lanes.wide_is_a ? b : a;
    lanes.wide_scales = lanes.wide_is_a ? tile.scale_a : tile.scale_b;
    lanes.narrow_scales = lanes.wide_is_a ? tile.scale_b : tile.scale_a;
    if (!lanes.wide_is_a)
      lanes.arranged = arranged<Block>(tile, ArrangedB::Content::Form::floats, level_);
    return a != nullptr;
  }

  FloatLoops loops_;
  DotLevel level_;
  FloatTile lanes_; // but for where the matrices lie
};

} // namespace

std::shared_ptr<const DotWay> float_way(const DotPlan& plan, DotLevel level) {
  const FloatLoops loops = loops_of(level);
  FloatTile lanes;
  if (!loops.run || !takes_operands(level, plan) || !describe(plan, lanes))
    return nullptr;
  return std::make_shared<FloatWay>(loops, level, lanes);
}

} // namespace lemma::numeric::internal
