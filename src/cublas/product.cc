// A block of C at a time: its part of A and B is packed for as many k as fit the caches, in the order in
// which the loop of product.inc reads them, and C's block stays where it is meanwhile.
#include "cublas/product.h"

#include "support/processors.h"
#include "support/worker_pool.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace lemma::cublas {
namespace {

namespace plain {
typedef double V __attribute__((vector_size(16)));
constexpr int kVectors = 2, kColumns = 2;
inline V all_are(double value) {
  return V{value, value};
}
inline V fma_of(V a, V b, V c) {
  return V{std::fma(a[0], b[0], c[0]), std::fma(a[1], b[1], c[1])};
}
#include "cublas/product.inc"
} // namespace plain

#if defined(__x86_64__)
#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
namespace avx2 {
typedef double V __attribute__((vector_size(32)));
constexpr int kVectors = 3, kColumns = 4; // 12 sums, and 4 registers for the rest
inline V all_are(double value) {
  return _mm256_set1_pd(value);
}
inline V fma_of(V a, V b, V c) {
  return _mm256_fmadd_pd(a, b, c);
}
#include "cublas/product.inc"
} // namespace avx2
#ifdef __clang__
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f")
#endif
namespace avx512 {
typedef double V __attribute__((vector_size(64)));
constexpr int kVectors = 3, kColumns = 8;
inline V all_are(double value) {
  return _mm512_set1_pd(value);
}
inline V fma_of(V a, V b, V c) {
  return _mm512_fmadd_pd(a, b, c);
}
#include "cublas/product.inc"
} // namespace avx512
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

struct Level {
  int rows, columns; // of a small product
  void (*multiply)(int64_t rows, int64_t columns, int64_t k, const double* a, const double* b, double* c,
                   int64_t ldc);
};

Level choose_level() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    return {24, 8, avx512::multiply_block};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return {12, 4, avx2::multiply_block};
#endif
  return {4, 2, plain::multiply_block};
}

const Level& level() {
  static const Level chosen = choose_level();
  return chosen;
}

// Multiples of every level's rows and columns.
constexpr int64_t kBlockRows = 96, kBlockColumns = 192, kBlockK = 256;
// That many multiply-adds are worth another thread.
constexpr double kWorkForThreads = 4e6;

int64_t up_to_multiple(int64_t value, int64_t of) {
  return (value + of - 1) / of * of;
}

// One of the two parts of a complex operand, or a real one.
struct Part {
  const double* at;
  int64_t down, across; // in doubles
  double sign = 1;
};

// Panels of `width` rows, each with its elements for k one after the other; zeros beyond `rows`.
void pack(const Part& from, int64_t row, int64_t rows, int64_t k, int64_t count, int64_t width, double* to) {
  for (int64_t panel = 0; panel < rows; panel += width) {
    const int64_t there = std::min(width, rows - panel);
    for (int64_t p = 0; p < count; ++p, to += width) {
      const double* source = from.at + (row + panel) * from.down + (k + p) * from.across;
      for (int64_t i = 0; i < there; ++i)
        to[i] = from.sign * source[i * from.down];
      std::fill(to + there, to + width, 0.0);
    }
  }
}

struct Product {
  int64_t m, n, k;
  const Part *a, *b; // `pairs` of them, added up
  int pairs;
  double* c;
  int64_t c_down, ldc; // in doubles

  int64_t blocks_down() const { return (m + kBlockRows - 1) / kBlockRows; }
  int64_t blocks() const { return blocks_down() * ((n + kBlockColumns - 1) / kBlockColumns); }

  void block(int64_t index) const {
    const Level& with = level();
    const int64_t i0 = index % blocks_down() * kBlockRows, j0 = index / blocks_down() * kBlockColumns;
    const int64_t rows = std::min(kBlockRows, m - i0), columns = std::min(kBlockColumns, n - j0);
    const int64_t all_rows = up_to_multiple(rows, with.rows),
                  all_columns = up_to_multiple(columns, with.columns);
    const auto depth = static_cast<size_t>(std::min(kBlockK, k));
    std::vector<double> packed_a(static_cast<size_t>(all_rows) * depth),
        packed_b(static_cast<size_t>(all_columns) * depth), sums(static_cast<size_t>(all_rows * all_columns));
    for (int pair = 0; pair < pairs; ++pair)
      for (int64_t p = 0; p < k; p += kBlockK) {
        const int64_t count = std::min(kBlockK, k - p);
        const Part transposed{b[pair].at, b[pair].across, b[pair].down, b[pair].sign};
        pack(a[pair], i0, rows, p, count, with.rows, packed_a.data());
        pack(transposed, j0, columns, p, count, with.columns, packed_b.data());
        with.multiply(all_rows, all_columns, count, packed_a.data(), packed_b.data(), sums.data(), all_rows);
      }
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = 0; i < rows; ++i)
        c[(i0 + i) * c_down + (j0 + j) * ldc] = sums[static_cast<size_t>(j * all_rows + i)];
  }

  void run() const {
    in_parallel(blocks(), static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) * pairs,
                [this](int64_t index) { block(index); });
  }
};

Part part_of(const Strided<Complex>& from, bool imaginary, bool negative = false) {
  return {.at = reinterpret_cast<const double*>(from.at) + imaginary,
          .down = 2 * from.down,
          .across = 2 * from.across,
          .sign = (imaginary && from.conjugate) != negative ? -1.0 : 1.0};
}

} // namespace

void multiply(int64_t m, int64_t n, int64_t k, const Strided<double>& a, const Strided<double>& b, double* c,
              int64_t ldc) {
  const Part part_of_a{a.at, a.down, a.across}, part_of_b{b.at, b.down, b.across};
  Product{m, n, k, &part_of_a, &part_of_b, 1, c, 1, ldc}.run();
}

void multiply(int64_t m, int64_t n, int64_t k, const Strided<Complex>& a, const Strided<Complex>& b,
              Complex* c, int64_t ldc) {
  auto* to = reinterpret_cast<double*>(c);
  const Part real_a[] = {part_of(a, false), part_of(a, true, true)};
  const Part real_b[] = {part_of(b, false), part_of(b, true)};
  Product{m, n, k, real_a, real_b, 2, to, 2, 2 * ldc}.run();
  const Part imaginary_a[] = {part_of(a, false), part_of(a, true)};
  const Part imaginary_b[] = {part_of(b, true), part_of(b, false)};
  Product{m, n, k, imaginary_a, imaginary_b, 2, to + 1, 2, 2 * ldc}.run();
}

void in_parallel(int64_t count, double work, const void* context, void (*f)(const void* context, int64_t i)) {
  std::atomic<int64_t> next{0};
  const auto some = [&] {
    for (int64_t i = next++; i < count; i = next++)
      f(context, i);
  };
  const auto most =
      static_cast<uint64_t>(std::max<int64_t>(std::min<int64_t>(count, usable_processors()) - 1, 0));
  const auto wanted = static_cast<uint64_t>(work / kWorkForThreads);
  if (const uint64_t helpers = std::min(most, wanted); helpers > 0)
    run_on_workers(helpers, some);
  else
    some();
}

} // namespace lemma::cublas
