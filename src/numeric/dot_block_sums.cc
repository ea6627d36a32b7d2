// What the loops of dot_block_sums.inc need before they run, and the few operations in which levels differ.
// Read from the bottom: block_sums_way() asks has_fast_form(); BlockSumsWay decodes A's rows once (elements
// doubled, so that e2m1 is an integer) and calls the level's loops, which decode B as they go; LeaveRow gives
// single rows back to the scalar code. The middle is one section a level, each with its own inclusion of the
// loops.
#include "numeric/dot_block_sums.h"

#include "numeric/dot_internal.h"
#include "numeric/dot_levels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

namespace lemma::numeric::internal {
namespace {

constexpr int kGroup = 16;  // products of an exact sum
constexpr int kColumns = 8; // at a time
constexpr int kMaxParts = 8, kMaxGroups = 8;
[[maybe_unused]] constexpr int kPairs = 8; // of elements in a part of 16
constexpr int kOffset = 12;                // makes twice any e2m1 unsigned
constexpr int kMaxFractionBits = 35;
[[maybe_unused]] constexpr int64_t kExponentField = int64_t{0x7ff} << 52;
[[maybe_unused]] constexpr double kLeastPower = 0x1p-600;

// A factor of a term: half of the sum's unit and the power of two that counts for the alignment, of zero 0.
struct Scale {
  double value = 0, power = 0;
  bool is_nan() const { return power < 0; }
};

// A's row i, with zeros where it is sparse.
struct RowOfA {
  alignas(64) int8_t elements[kMaxParts * 16]; // twice their values, and kOffset more
  double value[kMaxGroups], power[kMaxGroups]; // scales
  bool has_nan;
};

// A plan has one, without what is of one tile.
struct BlockSumsTile {
  int m, n;
  int parts;           // of 16 columns of B
  int groups;          // one or two parts each
  int groups_of_scale; // that share one
  int scales_in_row;
  int fraction_bits;
  const Scale* scales; // by their bits
  size_t stride;
  // Of one tile.
  const RowOfA* a = nullptr;
  const std::byte* b = nullptr;
  const uint8_t* scale_b = nullptr;
  const std::byte* c = nullptr; // may be null
  std::byte* d = nullptr;
  std::byte* const* blocks = nullptr;         // C and D in place of those, if not null: DotBlocks
  const std::byte* const* c_blocks = nullptr; // null: C is zeros
};

// What the loops left needs the scalar code: columns [j, j + columns) of row i, from c to d.
struct LeaveRow {
  const DotPlan& plan;
  const DotTile& tile;
  MatrixOutputs& paths;
  void operator()(int i, int j, int columns, const float* c, float* d) const {
    DotRows row = rows_of(plan, tile, {i, 1, j, columns});
    row.c = reinterpret_cast<const std::byte*>(c);
    row.d = reinterpret_cast<std::byte*>(d);
    dot_block_sums(plan.model(), row);
    paths.vector -= static_cast<uint64_t>(columns);
    paths.scalar += static_cast<uint64_t>(columns);
  }
};

// A row's scales, that of group g to element g * stride. Is one a NaN?
inline bool take_scales(const BlockSumsTile& tile, const uint8_t* scales, double* values, double* powers,
                        size_t stride) {
  bool has_nan = false;
  size_t at = 0;
  for (int s = 0; s < tile.scales_in_row; ++s) {
    const Scale scale = tile.scales[scales[s]];
    has_nan |= scale.is_nan();
    for (int group = 0; group < tile.groups_of_scale; ++group, at += stride) {
      values[at] = scale.value;
      powers[at] = scale.power;
    }
  }
  return has_nan;
}

// Where columns j to j + 3 of row i are in the tile's blocks, C's or D's.
template <class Byte>
[[maybe_unused]] Byte* in_blocks(const BlockSumsTile& tile, Byte* const* blocks, int i, int j) {
  constexpr int kRows = 8, kInBlock = 4, kRowBytes = 16;
  return blocks[i / kRows * (tile.n / kInBlock) + j / kInBlock] + i % kRows * kRowBytes;
}

// Columns [j, j + columns) of row i; those of `to` beyond them become zeros.
[[maybe_unused]] inline void load_row(const BlockSumsTile& tile, int i, int j, int columns, float* to) {
  constexpr size_t kBytes = kColumns * sizeof(float);
  const bool has_c = tile.blocks ? tile.c_blocks != nullptr : tile.c != nullptr;
  const size_t at = (static_cast<size_t>(i) * tile.stride + static_cast<size_t>(j)) * sizeof(float);
  if (has_c && columns == kColumns && !tile.blocks) {
    std::memcpy(to, tile.c + at, kBytes);
    return;
  }
  std::memset(to, 0, kBytes);
  for (int first = 0; has_c && tile.blocks && first < columns; first += 4)
    std::memcpy(to + first, in_blocks(tile, tile.c_blocks, i, j + first), 4 * sizeof(float));
  if (has_c && !tile.blocks)
    std::memcpy(to, tile.c + at, static_cast<size_t>(columns) * sizeof(float));
}

[[maybe_unused]] inline void store_row(const BlockSumsTile& tile, int i, int j, int columns,
                                       const float* from) {
  for (int first = 0; tile.blocks && first < columns; first += 4)
    std::memcpy(in_blocks(tile, tile.blocks, i, j + first), from + first, 4 * sizeof(float));
  if (tile.blocks)
    return;
  std::byte* to = tile.d + (static_cast<size_t>(i) * tile.stride + static_cast<size_t>(j)) * sizeof(float);
  if (columns == kColumns) // of a known size: no call
    std::memcpy(to, from, kColumns * sizeof(float));
  else
    std::memcpy(to, from, static_cast<size_t>(columns) * sizeof(float));
}

// Eight columns of B, decoded.
struct ColumnBlock {
  alignas(64) int8_t pairs[kPairs][kMaxParts][16]; // a pair of elements of each column
  alignas(64) int16_t start[kMaxParts][kColumns];  // what A's offset adds to the sums, negative
  alignas(64) double value[kMaxGroups][kColumns];  // scales
  alignas(64) double power[kMaxGroups][kColumns];  // their powers of two
  bool has_nan;
};

// The loops of a level; null: there are none.
struct BlockSumsLoops {
  void (*decode_row)(const std::byte* from, int parts, int8_t* to) = nullptr;
  bool (*decode_sparse_row)(const std::byte* from, const uint8_t* columns, int groups, int8_t* to) = nullptr;
  using Run = void (*)(const BlockSumsTile& tile, ColumnBlock& block, const LeaveRow& leave);
  Run run = nullptr;        // groups of one part
  Run run_sparse = nullptr; // of two
};

} // namespace
} // namespace lemma::numeric::internal

#ifdef LEMMA_DOT_BASELINE
#define LEMMA_BLOCKS_INLINE [[gnu::always_inline]] static inline
// The types of a level.
#define LEMMA_BLOCKS_TYPES                                                                                   \
  typedef int8_t Part __attribute__((vector_size(16)));                                                      \
  typedef int16_t Shorts __attribute__((vector_size(16)));                                                   \
  typedef int8_t Bytes __attribute__((vector_size(16 * kParts)));                                            \
  typedef int16_t Sums __attribute__((vector_size(16 * kParts)));                                            \
  typedef double Doubles __attribute__((vector_size(8 * kDoubles)));                                         \
  typedef int64_t Longs __attribute__((vector_size(8 * kDoubles)));                                          \
  typedef float Singles __attribute__((vector_size(4 * kDoubles)));                                          \
  typedef uint32_t Quads __attribute__((vector_size(4 * kDoubles)));

namespace lemma::numeric::internal::baseline {
namespace {
constexpr int kParts = 1, kDoubles = 2;
LEMMA_BLOCKS_TYPES
// Twice the values of e2m1.
LEMMA_BLOCKS_INLINE Part doubled(Part bits) {
  const Part field = bits & 7, negative = (bits & 8) != 0;
  const Part magnitude = field - (field > 4) - (field > 5) - 3 * (field > 6);
  return (magnitude ^ negative) - negative;
}
LEMMA_BLOCKS_INLINE Sums repeat_pair(Sums elements, int pair) {
  return Sums{} + elements[pair];
}
LEMMA_BLOCKS_INLINE Sums add_pairs(Sums sums, Sums a, Sums b) {
  return sums + ((a << 8) >> 8) * ((b << 8) >> 8) + (a >> 8) * (b >> 8);
}
template <int kPartsOfGroup>
LEMMA_BLOCKS_INLINE Doubles widen_sums(const int16_t* from) {
  const int low = from[0] + (kPartsOfGroup == 2 ? from[kColumns] : 0);
  const int high = from[1] + (kPartsOfGroup == 2 ? from[kColumns + 1] : 0);
  return Doubles{static_cast<double>(low), static_cast<double>(high)};
}
// Below 2^51.
LEMMA_BLOCKS_INLINE Doubles toward_zero(Doubles numbers) {
  const Longs sign = Longs(numbers) & INT64_MIN;
  const Doubles magnitude = Doubles(Longs(numbers) ^ sign);
  const Doubles nearest = (magnitude + 0x1p52) - 0x1p52;
  const Doubles too_large = Doubles((nearest > magnitude) & Longs(Doubles{} + 1.0));
  return Doubles(Longs(nearest - too_large) | sign);
}
LEMMA_BLOCKS_INLINE bool any(Longs mask) {
  return (mask[0] | mask[1]) != 0;
}
#include "numeric/dot_block_sums.inc"
} // namespace
} // namespace lemma::numeric::internal::baseline
#endif

#ifdef LEMMA_DOT_X86
#include <immintrin.h>

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX2
namespace lemma::numeric::internal::avx2 {
namespace {
constexpr int kParts = 2, kDoubles = 4;
LEMMA_BLOCKS_TYPES
LEMMA_BLOCKS_INLINE Part doubled(Part bits) {
  const __m128i values = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  return (Part)_mm_shuffle_epi8(values, (__m128i)(bits & 15));
}
LEMMA_BLOCKS_INLINE Sums repeat_pair(Sums elements, int pair) { // of each part
  const __m256i which = _mm256_set1_epi16(static_cast<int16_t>(0x0100 + 0x0202 * pair));
  return (Sums)_mm256_shuffle_epi8((__m256i)elements, which);
}
LEMMA_BLOCKS_INLINE Sums add_pairs(Sums sums, Sums a, Sums b) {
  return sums + (Sums)_mm256_maddubs_epi16((__m256i)a, (__m256i)b);
}
template <int kPartsOfGroup>
LEMMA_BLOCKS_INLINE Doubles widen_sums(const int16_t* from) {
  __m128i sums = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  if (kPartsOfGroup == 2)
    sums = _mm_add_epi16(sums, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + kColumns)));
  return (Doubles)_mm256_cvtepi32_pd(_mm_cvtepi16_epi32(sums));
}
LEMMA_BLOCKS_INLINE Doubles toward_zero(Doubles numbers) {
  return (Doubles)_mm256_round_pd((__m256d)numbers, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
LEMMA_BLOCKS_INLINE bool any(Longs mask) {
  return _mm256_testz_si256((__m256i)mask, (__m256i)mask) == 0;
}
#include "numeric/dot_block_sums.inc"
} // namespace
} // namespace lemma::numeric::internal::avx2
#pragma GCC pop_options

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX512
namespace lemma::numeric::internal::avx512 {
namespace {
constexpr int kParts = 4, kDoubles = 8;
LEMMA_BLOCKS_TYPES
LEMMA_BLOCKS_INLINE Part doubled(Part bits) {
  const __m128i values = _mm_setr_epi8(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);
  return (Part)_mm_shuffle_epi8(values, (__m128i)(bits & 15));
}
LEMMA_BLOCKS_INLINE Sums repeat_pair(Sums elements, int pair) { // of each part
  const __m512i which = _mm512_set1_epi16(static_cast<int16_t>(0x0100 + 0x0202 * pair));
  return (Sums)_mm512_shuffle_epi8((__m512i)elements, which);
}
LEMMA_BLOCKS_INLINE Sums add_pairs(Sums sums, Sums a, Sums b) {
  return sums + (Sums)_mm512_maddubs_epi16((__m512i)a, (__m512i)b);
}
// The forms with masks where g++ 12 warns of undefined lanes of the others.
template <int kPartsOfGroup>
LEMMA_BLOCKS_INLINE Doubles widen_sums(const int16_t* from) {
  __m128i sums = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  if (kPartsOfGroup == 2)
    sums = _mm_add_epi16(sums, _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + kColumns)));
  return (Doubles)_mm512_maskz_cvtepi32_pd(0xff, _mm256_cvtepi16_epi32(sums));
}
LEMMA_BLOCKS_INLINE Doubles toward_zero(Doubles numbers) {
  return (Doubles)_mm512_maskz_roundscale_pd(0xff, (__m512d)numbers, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
}
LEMMA_BLOCKS_INLINE bool any(Longs mask) {
  return _mm512_test_epi64_mask((__m512i)mask, (__m512i)mask) != 0;
}
#include "numeric/dot_block_sums.inc"
} // namespace
} // namespace lemma::numeric::internal::avx512
#pragma GCC pop_options
#endif

namespace lemma::numeric::internal {
namespace {

BlockSumsLoops loops_of(DotLevel level) {
  switch (without_integers(level)) {
#ifdef LEMMA_DOT_BASELINE
  case DotLevel::baseline:
    return {baseline::decode_row, baseline::decode_sparse_row, baseline::run_rows<1>, baseline::run_rows<2>};
#endif
#ifdef LEMMA_DOT_X86
  case DotLevel::avx2:
    return {avx2::decode_row, avx2::decode_sparse_row, avx2::run_rows<1>, avx2::run_rows<2>};
  case DotLevel::avx512:
    return {avx512::decode_row, avx512::decode_sparse_row, avx512::run_rows<1>, avx512::run_rows<2>};
#endif
  default:
    return {};
  }
}

using ScaleTable = std::array<Scale, 256>;

// Each holds one of the two halves by which the products' factors were doubled.
const Scale* scale_table(FloatFormat format) {
  const auto build = [](FloatFormat of) {
    ScaleTable table;
    for (uint64_t bits = 0; bits < table.size(); ++bits) {
      const Decoded decoded = decode(of, bits);
      if (decoded.float_class == FloatClass::nan)
        table[bits] = {.value = 0, .power = -1};
      else if (decoded.float_class == FloatClass::finite)
        table[bits] = {.value = std::ldexp(static_cast<double>(decoded.significand), decoded.exponent - 1),
                       .power = std::ldexp(1.0, decoded.exponent + traits(of).mantissa_bits)};
    }
    return table;
  };
  static const ScaleTable ue8m0 = build(FloatFormat::ue8m0), ue4m3 = build(FloatFormat::ue4m3);
  return format == FloatFormat::ue8m0 ? ue8m0.data() : ue4m3.data();
}

// Stored elements to their columns; false where two meet one, or one is not of its group's columns.
bool spread_elements(const int8_t* stored, const uint8_t* columns, int groups, int8_t* row) {
  constexpr int kWidth = 2 * kGroup;
  uint32_t missing = 0;
  std::memset(row, kOffset, static_cast<size_t>(groups) * kWidth);
  for (int group = 0; group < groups; ++group, stored += kGroup, columns += kGroup, row += kWidth) {
    uint32_t taken = 0;
    for (int s = 0; s < kGroup; ++s) {
      const uint32_t column = static_cast<uint32_t>(columns[s]) - static_cast<uint32_t>(group * kWidth);
      if (column >= kWidth)
        return false;
      taken |= uint32_t{1} << column;
      row[column] = stored[s];
    }
    missing |= static_cast<uint32_t>(kGroup - std::popcount(taken));
  }
  return missing == 0;
}

// A's rows; false where a sparse one has no dense form.
bool decode_a(const DotPlan& plan, const DotTile& tile, const BlockSumsTile& to, const BlockSumsLoops& loops,
              RowOfA* rows) {
  const std::byte* a = tile.a.rows();
  const auto m = static_cast<size_t>(plan.shape().m), k = static_cast<size_t>(plan.shape().k);
  for (size_t i = 0; i < m; ++i) {
    RowOfA& row = rows[i];
    if (plan.shape().is_sparse()) {
      const uint8_t* columns = tile.a_index + i * k;
      if (!loops.decode_sparse_row(a + i * k, columns, to.groups, row.elements)) {
        int8_t stored[kMaxGroups * kGroup];
        loops.decode_row(a + i * k, to.groups, stored);
        if (!spread_elements(stored, columns, to.groups, row.elements))
          return false;
      }
    } else {
      loops.decode_row(a + i * k, to.groups, row.elements);
    }
    row.has_nan =
        take_scales(to, tile.scale_a + i * static_cast<size_t>(to.scales_in_row), row.value, row.power, 1);
  }
  return true;
}

bool has_fast_form(const DotPlan& plan) {
  const DotModel& model = plan.model();
  const DotShape& shape = plan.shape();
  const bool has_formats = model.a == FloatFormat::e2m1 && model.b == FloatFormat::e2m1 &&
                           model.c == FloatFormat::f32 && model.d == FloatFormat::f32 &&
                           (model.scale == FloatFormat::ue8m0 || model.scale == FloatFormat::ue4m3);
  const bool has_rule = model.fraction_bits <= kMaxFractionBits && model.rounding == Rounding::rz &&
                        model.kept_fraction_bits == traits(FloatFormat::f32).mantissa_bits;
  return has_formats && has_rule && model.scale_block % kGroup == 0 && shape.k % model.scale_block == 0 &&
         shape.columns_of_b() <= kMaxParts * 16 && (!shape.is_sparse() || shape.k_b == 2 * shape.k) &&
         plan.layout().blocks != DotBlocks::all;
}

class BlockSumsWay final : public DotWay {
public:
  BlockSumsWay(const DotPlan& plan, const BlockSumsLoops& loops)
      : loops_(loops), lanes_{.m = plan.shape().m,
                              .n = plan.shape().n,
                              .parts = plan.shape().columns_of_b() / 16,
                              .groups = plan.shape().k / kGroup,
                              .groups_of_scale = plan.model().scale_block / kGroup,
                              .scales_in_row = plan.shape().k / plan.model().scale_block,
                              .fraction_bits = plan.model().fraction_bits,
                              .scales = scale_table(plan.model().scale),
                              .stride = plan.row_stride()} {}

  bool run(const DotPlan& plan, const DotTile& tile, DotScratch& scratch,
           MatrixOutputs& paths) const override {
    BlockSumsTile lanes = lanes_;
    const auto rows_at = (sizeof(ColumnBlock) + alignof(RowOfA) - 1) / alignof(RowOfA) * alignof(RowOfA);
    auto* const room = scratch.make<std::byte>(DotScratch::Use::loops,
                                               rows_at + static_cast<size_t>(lanes.m) * sizeof(RowOfA));
    auto* const rows = reinterpret_cast<RowOfA*>(room + rows_at);
    if (!decode_a(plan, tile, lanes, loops_, rows))
      return false;
    lanes.a = rows;
    lanes.b = tile.b.rows();
    lanes.scale_b = tile.scale_b;
    place_outputs(plan, tile, lanes);
    paths.vector += plan.shape().outputs();
    const auto run = plan.shape().is_sparse() ? loops_.run_sparse : loops_.run;
    run(lanes, *reinterpret_cast<ColumnBlock*>(room), {plan, tile, paths});
    return true;
  }

private:
  BlockSumsLoops loops_;
  BlockSumsTile lanes_; // but for what is of one tile
};

} // namespace

std::shared_ptr<const DotWay> block_sums_way(const DotPlan& plan, DotLevel level) {
  const BlockSumsLoops loops = loops_of(level);
  return loops.run && has_fast_form(plan) ? std::make_shared<BlockSumsWay>(plan, loops) : nullptr;
}

} // namespace lemma::numeric::internal
