// The gate to the loops of dot_f64.inc: which plans they take, and where the operands' rows lie, dense or in
// a warp's registers (DotBlocks). One section a host level that has fma.
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

// Where eight rows of an operand lie by fours along K; `fours` is room for the places of rows.
using Fours = std::array<const std::byte*, kMostFours>;
Rows rows_of(const DotPlace<const std::byte>& place, bool in_blocks, int eight, int k, Fours& fours) {
  const auto count = static_cast<size_t>(k / kFour);
  if (in_blocks)
    return {place.blocks() + static_cast<size_t>(eight) * count,
            place.pitch() != 0 ? place.pitch() : kFourBytes};
  const size_t row_bytes = static_cast<size_t>(k) * sizeof(double);
  const std::byte* first = place.rows() + static_cast<size_t>(eight) * kEight * row_bytes;
  for (size_t four = 0; four < count; ++four)
    fours[four] = first + four * kFourBytes;
  return {fours.data(), row_bytes};
}

// Eight columns of C or D, from an eight of rows on.
template <class Byte>
Columns<Byte> columns_of(const DotPlan& plan, const DotPlace<Byte>& place, int row_eight, int column_eight) {
  if (!place)
    return {};
  const auto row = static_cast<size_t>(row_eight), column = static_cast<size_t>(column_eight);
  if (plan.layout().blocks != DotBlocks::none) {
    const auto in_row = static_cast<size_t>(plan.shape().n / kFour);
    Byte* const* at = place.blocks() + row * in_row + column * 2;
    return {at[0], at[1], kFourBytes};
  }
  const size_t stride = plan.row_stride() * sizeof(double);
  Byte* first = place.rows() + row * kEight * stride + column * 2 * kFourBytes;
  return {first, first + kFourBytes, stride};
}

class F64Way final : public DotWay {
public:
  explicit F64Way(const F64Loops& loops) : loops_(loops) {}

  bool run(const DotPlan& plan, const DotTile& tile, DotScratch& scratch,
           MatrixOutputs& paths) const override {
    const DotShape& shape = plan.shape();
    const bool in_blocks = plan.layout().blocks == DotBlocks::all;
    const bool even_first = in_blocks && plan.layout().even_columns_first;
    const int eights = shape.n / kEight;
    MatrixOutputs left;
    Arranged columns[kMostEights];
    Fours places;
    for (int j = 0, together = 0; j < eights; j += together) {
      together = loops_.two_eights && j + 1 < eights ? 2 : 1;
      for (int e = 0; e < together; ++e)
        loops_.arrange(rows_of(tile.b, in_blocks, j + e, shape.k, places), shape.k / kFour, even_first,
                       columns[e]);
      for (int i = 0; i < shape.m / kEight; ++i)
        left += run_eight_rows(plan, tile, scratch, rows_of(tile.a, in_blocks, i, shape.k, places), i,
                               columns, j, together);
    }
    paths += left;
    paths.vector += shape.outputs() - left.total();
    return true;
  }

private:
  // One or more eights of columns from the eight `j` on. Returns what was left.
  MatrixOutputs run_eight_rows(const DotPlan& plan, const DotTile& tile, DotScratch& scratch, const Rows& a,
                               int i, const Arranged* columns, int j, int together) const {
    MatrixOutputs left;
    for (int row = 0; row < kEight; row += loops_.rows) {
      ColumnsOfC c[kMostEights];
      ColumnsOfD d[kMostEights];
      for (int e = 0; e < together; ++e) {
        c[e] = columns_of(plan, tile.c, i, j + e).from(row);
        d[e] = columns_of(plan, tile.d, i, j + e).from(row);
      }
      const RunRows run = together == 2 ? loops_.two_eights : loops_.one_eight;
      if (!run(a, row, columns, plan.shape().k / kFour, c, d))
        left += run_rest(plan, tile, scratch, {i * kEight + row, loops_.rows, j * kEight, together * kEight});
    }
    return left;
  }

  F64Loops loops_;
};

} // namespace

std::shared_ptr<const DotWay> f64_way(const DotPlan& plan, DotLevel level) {
  const F64Loops loops = f64_loops_of(level);
  const DotModel& model = plan.model();
  const DotShape& shape = plan.shape();
  if (!loops.one_eight || model.d != FloatFormat::f64 || model.rounding != Rounding::rn ||
      shape.is_sparse() || shape.m % kEight != 0 || shape.n % kEight != 0 || shape.k % kFour != 0 ||
      shape.k > kMaxF64K)
    return nullptr;
  return std::make_shared<F64Way>(loops);
}

} // namespace lemma::numeric::internal
