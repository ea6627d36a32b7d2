// The gate to the loops of dot_f64.inc: which models and tiles they take, and where the operands' rows lie,
// dense or in a warp's registers (DotTile::blocks, a_blocks). One section a host level that has fma.
#include "numeric/dot_f64.h"

#include <array>
#include <cstring>

namespace lemma::numeric::internal {
namespace {

constexpr int kEight = 8; // rows of A, or columns, that the loops take together
constexpr int kFour = 4;  // elements along K that lie next to each other, in blocks too
constexpr size_t kFourBytes = kFour * sizeof(double);
constexpr int kMostFours = kMaxF64K / kFour;

// Eight rows of A or B: where the first one's elements lie, by fours along K, and how far the next row's are.
struct Rows {
  const std::byte* const* fours;
  size_t stride;
};

// Eight columns of C or D: where the first row's lie, four and four, and how far the next row's are.
template <class Byte>
struct Columns {
  Byte *low, *high; // null, of C: zeros
  size_t stride;

  Columns from(int row) const {
    const size_t bytes = static_cast<size_t>(row) * stride;
    return low ? Columns{low + bytes, high + bytes, stride} : *this;
  }
};
using ColumnsOfC = Columns<const std::byte>;
using ColumnsOfD = Columns<std::byte>;

// Of B, an element of K after the other, in the order in which D has the columns.
struct alignas(64) Arranged {
  double of_k[kMaxF64K][kEight];
};

constexpr int kMostEights = 2; // of columns, that are taken together

// Rows of A from `row` on, of eight, times one or more of eight columns; false where a result is a NaN:
// nothing is written.
using RunRows = bool (*)(const Rows& a, int row, const Arranged* b, int fours, const ColumnsOfC* c,
                         const ColumnsOfD* d);

// The loops of a level; null: there are none.
struct F64Loops {
  int rows = 0; // that they take
  void (*arrange)(const Rows& b, int fours, bool even_first, Arranged& out) = nullptr;
  RunRows one_eight = nullptr, two_eights = nullptr;
};

} // namespace
} // namespace lemma::numeric::internal

#ifdef LEMMA_DOT_X86
#include <immintrin.h>

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX2
namespace lemma::numeric::internal::avx2 {
namespace {
#include "numeric/dot_f64.inc"
} // namespace
} // namespace lemma::numeric::internal::avx2
#pragma GCC pop_options

#pragma GCC push_options
LEMMA_DOT_TARGET_AVX512
namespace lemma::numeric::internal::avx512 {
namespace {
#define LEMMA_LANES_AVX512
#include "numeric/dot_f64.inc"
#undef LEMMA_LANES_AVX512
} // namespace
} // namespace lemma::numeric::internal::avx512
#pragma GCC pop_options
#endif

namespace lemma::numeric::internal {
namespace {

F64Loops f64_loops_of(DotLevel level) {
  switch (without_integers(level)) {
#ifdef LEMMA_DOT_X86
  case DotLevel::avx2:
    return {avx2::kRowsAtOnce, avx2::arrange_columns, avx2::run_rows_of_f64<1>, nullptr};
  case DotLevel::avx512:
    return {avx512::kRowsAtOnce, avx512::arrange_columns, avx512::run_rows_of_f64<1>,
            avx512::run_rows_of_f64<2>};
#endif
  default:
    return {};
  }
}

// Where eight rows of an operand lie by fours along K; `fours` is room for the places of dense ones.
using Fours = std::array<const std::byte*, kMostFours>;
Rows rows_of(const void* array, const std::byte* const* blocks, size_t pitch, int eight, int k,
             Fours& fours) {
  const auto count = static_cast<size_t>(k / kFour);
  if (blocks)
    return {blocks + static_cast<size_t>(eight) * count, pitch != 0 ? pitch : kFourBytes};
  const size_t row_bytes = static_cast<size_t>(k) * sizeof(double);
  const std::byte* first =
      static_cast<const std::byte*>(array) + static_cast<size_t>(eight) * kEight * row_bytes;
  for (size_t four = 0; four < count; ++four)
    fours[four] = first + four * kFourBytes;
  return {fours.data(), row_bytes};
}

template <class Byte>
Columns<Byte> columns_in(Byte* array, const DotTile& tile, int row_eight, int column_eight) {
  if (!array)
    return {};
  const size_t stride = row_stride(tile) * sizeof(double);
  Byte* first = array + static_cast<size_t>(row_eight) * kEight * stride +
                static_cast<size_t>(column_eight) * 2 * kFourBytes;
  return {first, first + kFourBytes, stride};
}

template <class Byte>
Columns<Byte> columns_in_blocks(Byte* const* blocks, const DotTile& tile, int row_eight, int column_eight) {
  if (!blocks)
    return {};
  const auto in_row = static_cast<size_t>(tile.n / kFour);
  Byte* const* at = blocks + static_cast<size_t>(row_eight) * in_row + static_cast<size_t>(column_eight) * 2;
  return {at[0], at[1], kFourBytes};
}

// Rows of the columns from `column` on, by `fallback`.
void leave(const DotModel& model, const DotTile& tile, int row, int rows, int column, int columns,
           DotRun fallback) {
  const DotTile dense = tile.a_blocks ? dense_operands(model, tile) : tile;
  if (tile.blocks)
    run_as_rows(model, dense, row, rows, column, columns, fallback);
  else
    fallback(model, part_of(model, dense, row, rows, column, columns));
}

} // namespace

bool dot_f64_lanes(const DotModel& model, const DotTile& tile, DotRun fallback, MatrixOutputs& paths) {
  const F64Loops loops = f64_loops_of(dot_level());
  if (!loops.one_eight || model.scheme != DotScheme::fma_chain || model.d != FloatFormat::f64 ||
      model.rounding != Rounding::rn || tile.a_index || tile.m % kEight != 0 || tile.n % kEight != 0 ||
      tile.k % kFour != 0 || tile.k > kMaxF64K)
    return false;
  const int fours = tile.k / kFour, eights = tile.n / kEight;
  uint64_t left = 0;
  Arranged columns[kMostEights];
  Fours places;
  for (int j = 0; j < eights;) {
    const int together = loops.two_eights && j + 1 < eights ? 2 : 1;
    for (int e = 0; e < together; ++e)
      loops.arrange(rows_of(tile.b, tile.b_blocks, tile.b_pitch, j + e, tile.k, places), fours,
                    tile.b_blocks && tile.even_columns_first, columns[e]);
    for (int i = 0; i < tile.m / kEight; ++i) {
      const Rows a = rows_of(tile.a, tile.a_blocks, tile.a_pitch, i, tile.k, places);
      for (int row = 0; row < kEight; row += loops.rows) {
        ColumnsOfC c[kMostEights];
        ColumnsOfD d[kMostEights];
        for (int e = 0; e < together; ++e) {
          c[e] = (tile.blocks ? columns_in_blocks(tile.c_blocks, tile, i, j + e)
                              : columns_in(static_cast<const std::byte*>(tile.c), tile, i, j + e))
                     .from(row);
          d[e] = (tile.blocks ? columns_in_blocks(tile.blocks, tile, i, j + e)
                              : columns_in(static_cast<std::byte*>(tile.d), tile, i, j + e))
                     .from(row);
        }
        if (!(together == 2 ? loops.two_eights : loops.one_eight)(a, row, columns, fours, c, d)) {
          leave(model, tile, i * kEight + row, loops.rows, j * kEight, together * kEight, fallback);
          left += static_cast<uint64_t>(loops.rows) * static_cast<uint64_t>(together * kEight);
        }
      }
    }
    j += together;
  }
  paths.scalar += left;
  paths.vector += static_cast<uint64_t>(tile.m) * static_cast<uint64_t>(tile.n) - left;
  return true;
}

} // namespace lemma::numeric::internal
