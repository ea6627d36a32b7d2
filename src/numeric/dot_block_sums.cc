// What the loops of dot_block_sums.inc need before they run, and the few operations in which levels differ.
// Read from the bottom: dot_block_sums_lanes() asks has_fast_form(), decodes A's rows once (elements doubled,
// so that e2m1 is an integer) and calls the level's loops, which decode B as they go; LeaveRow gives single
// rows back to the scalar code. The middle is one section a level, each with its own inclusion of the loops.
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

struct BlockSumsTile {
  int m, n;
  int parts;           // of 16 columns of B
  int groups;          // one or two parts each
  int groups_of_scale; // that share one
  int scales_in_row;
  int fraction_bits;
  const RowOfA* a;
  const uint8_t *b, *scale_b;
  const Scale* scales; // by their bits
  const uint8_t* c;    // may be null
  uint8_t* d;
  size_t stride;
  std::byte* const* blocks;         // C and D in place of those, if not null: of DotTile
  const std::byte* const* c_blocks; // null: C is zeros
};

// What the loops left needs the scalar code: columns [j, j + columns) of row i, from c to d.
struct LeaveRow {
  const DotModel& model;
  const DotTile& tile;
  MatrixOutputs& paths;
  void operator()(int i, int j, int columns, const float* c, float* d) const {
    DotTile part = part_of(model, tile, i, 1, j, columns);
    part.c = c;
    part.d = d;
    dot_block_sums(model, part);
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
  uint8_t* to = tile.d + (static_cast<size_t>(i) * tile.stride + static_cast<size_t>(j)) * sizeof(float);
  if (columns == kColumns) // of a known size: no call
    std::memcpy(to, from, kColumns * sizeof(float));
  else
    std::memcpy(to, from, static_cast<size_t>(columns) * sizeof(float));
}

// The loops of a level; null: there are none.
struct BlockSumsLoops {
  void (*decode_row)(const uint8_t* from, int parts, int8_t* to) = nullptr;
  bool (*decode_sparse_row)(const uint8_t* from, const uint8_t* columns, int groups, int8_t* to) = nullptr;
  void (*run)(const BlockSumsTile& tile, const LeaveRow& leave) = nullptr;        // groups of one part
  void (*run_sparse)(const BlockSumsTile& tile, const LeaveRow& leave) = nullptr; // of two
};

// Not inlined, as in dot_floats.cc.
template <class T>
[[gnu::noinline, maybe_unused]] T& workspace() {
  static thread_local T out;
  return out;
}

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

bool decode_a(const DotTile& tile, const BlockSumsTile& to, const BlockSumsLoops& loops,
              std::vector<RowOfA>& rows) {
  const auto* a = static_cast<const uint8_t*>(tile.a);
  const auto k = static_cast<size_t>(tile.k);
  rows.resize(static_cast<size_t>(tile.m));
  for (size_t i = 0; i < rows.size(); ++i) {
    RowOfA& row = rows[i];
    if (tile.a_index) {
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

bool has_fast_form(const DotModel& model, const DotTile& tile) {
  const bool has_formats = model.a == FloatFormat::e2m1 && model.b == FloatFormat::e2m1 &&
                           model.c == FloatFormat::f32 && model.d == FloatFormat::f32 &&
                           (model.scale == FloatFormat::ue8m0 || model.scale == FloatFormat::ue4m3);
  const bool has_rule = model.fraction_bits <= kMaxFractionBits && model.rounding == Rounding::rz &&
                        model.kept_fraction_bits == traits(FloatFormat::f32).mantissa_bits;
  const int k_b = tile.a_index ? tile.k_b : tile.k;
  return has_formats && has_rule && model.scale_block % kGroup == 0 && tile.k % model.scale_block == 0 &&
         k_b <= kMaxParts * 16 && (!tile.a_index || k_b == 2 * tile.k);
}

} // namespace

bool dot_block_sums_lanes(const DotModel& model, const DotTile& tile, MatrixOutputs& paths) {
  const BlockSumsLoops loops = loops_of(dot_level());
  if (!loops.run || !has_fast_form(model, tile))
    return false;
  static thread_local std::vector<RowOfA> rows; // a warp's tile is small, and allocation would show
  BlockSumsTile lanes{.m = tile.m,
                      .n = tile.n,
                      .parts = (tile.a_index ? tile.k_b : tile.k) / 16,
                      .groups = tile.k / kGroup,
                      .groups_of_scale = model.scale_block / kGroup,
                      .scales_in_row = tile.k / model.scale_block,
                      .fraction_bits = model.fraction_bits,
                      .a = nullptr,
                      .b = static_cast<const uint8_t*>(tile.b),
                      .scale_b = tile.scale_b,
                      .scales = scale_table(model.scale),
                      .c = static_cast<const uint8_t*>(tile.c),
                      .d = static_cast<uint8_t*>(tile.d),
                      .stride = row_stride(tile),
                      .blocks = tile.blocks,
                      .c_blocks = tile.c_blocks};
  if (!decode_a(tile, lanes, loops, rows))
    return false;
  lanes.a = rows.data();
  paths.vector += static_cast<uint64_t>(tile.m) * static_cast<uint64_t>(tile.n);
  (tile.a_index ? loops.run_sparse : loops.run)(lanes, {model, tile, paths});
  return true;
}

} // namespace lemma::numeric::internal
