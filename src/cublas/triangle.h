// Triangles of square matrices, as cuBLAS stores them: in a full matrix, packed column by column, or as a
// band; and what is made of their dense values.
//
// Tests: tests/cublas.
#pragma once

#include "cublas/operand.h"

namespace lemma::cublas {

struct Triangle {
  enum class Form : uint8_t { full, packed, band };
  Form form = Form::full;
  cudaDataType type = CUDA_R_32F;
  int64_t n = 0, k = 0; // of a band: so many diagonals beside the main one
  Matrix matrix;        // full: n x n; packed: one column; band: k + 1 x n

  static Triangle full(const void* at, cudaDataType type, int64_t n, int64_t ld) {
    return {Form::full, type, n, 0, cublas::matrix(at, type, n, n, ld)};
  }
  static Triangle packed(const void* at, cudaDataType type, int64_t n) {
    require(n >= 0);
    const int64_t count = n * (n + 1) / 2;
    return {Form::packed, type, n, 0, cublas::matrix(at, type, count, 1, std::max<int64_t>(count, 1))};
  }
  static Triangle band(const void* at, cudaDataType type, int64_t n, int64_t k, int64_t ld) {
    require(n >= 0 && k >= 0);
    return {Form::band, type, n, k, cublas::matrix(at, type, k + 1, n, ld)};
  }

  // f(column, its first row that is there, how many, where they lie).
  template <class F>
  void each_column(cublasFillMode_t uplo, F&& f) const {
    int64_t so_far = 0;
    each_column_of_triangle(uplo, n, [&](int64_t j, int64_t first, int64_t rows) {
      if (form == Form::full) {
        f(j, first, rows, matrix.part(first, j, rows, 1));
      } else if (form == Form::packed) {
        f(j, first, rows, matrix.part(so_far, 0, rows, 1));
        so_far += rows;
      } else if (uplo == CUBLAS_FILL_MODE_LOWER) {
        f(j, j, std::min(rows, k + 1), matrix.part(0, j, std::min(rows, k + 1), 1));
      } else {
        const int64_t there = std::min(rows, k + 1);
        f(j, j + 1 - there, there, matrix.part(k + 1 - there, j, there, 1));
      }
    });
  }

  // Zeros elsewhere.
  template <class V>
  Dense<V> load(const Memory& memory, cublasFillMode_t uplo) const {
    Dense<V> to(n, n);
    each_column(uplo, [&](int64_t j, int64_t first, int64_t, const Matrix& at) {
      const Dense<V> column = cublas::load<V>(memory, at);
      std::copy(column.values.begin(), column.values.end(), to.column(j) + first);
    });
    return to;
  }
  template <class V>
  void store(const Memory& memory, cublasFillMode_t uplo, const Dense<V>& from) const {
    each_column(uplo, [&](int64_t j, int64_t first, int64_t, const Matrix& at) {
      cublas::store(memory, at, from.column(j) + first);
    });
  }
};

template <class V>
void make_diagonal_real(Dense<V>& matrix) {
  if constexpr (std::is_same_v<V, Complex>)
    for (int64_t i = 0; i < matrix.rows; ++i)
      matrix(i, i) = matrix(i, i).real();
}

// The symmetric or Hermitian matrix of a triangle.
template <class V>
Dense<V> filled(Dense<V> matrix, cublasFillMode_t uplo, bool is_hermitian) {
  if (is_hermitian)
    make_diagonal_real(matrix);
  each_column_of_triangle(uplo, matrix.rows, [&](int64_t j, int64_t first, int64_t rows) {
    for (int64_t i = first; i < first + rows; ++i)
      if (i != j)
        matrix(j, i) = is_hermitian ? conjugate(matrix(i, j)) : matrix(i, j);
  });
  return matrix;
}

template <class V>
Dense<V> with_diagonal(Dense<V> matrix, cublasDiagType_t diagonal) {
  if (diagonal == CUBLAS_DIAG_UNIT)
    for (int64_t i = 0; i < matrix.rows; ++i)
      matrix(i, i) = V(1);
  return matrix;
}

// B becomes X of op(A) * X = B. A is a triangle, with zeros elsewhere and its diagonal as it counts.
template <class V>
void solve_triangular(const Dense<V>& a, cublasFillMode_t uplo, cublasOperation_t op, Dense<V>& b) {
  const int64_t n = a.rows;
  const bool is_transposed = op != CUBLAS_OP_N;
  const bool forward = (uplo == CUBLAS_FILL_MODE_LOWER) != is_transposed;
  const auto at = [&](int64_t i, int64_t j) {
    const V value = is_transposed ? a(j, i) : a(i, j);
    return op == CUBLAS_OP_C ? conjugate(value) : value;
  };
  Dense<V> factor(n, n); // op(A), so that columns are read in order
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = 0; i < n; ++i)
      factor(i, j) = at(i, j);
  in_parallel(b.columns, static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(b.columns),
              [&](int64_t column) {
                V* x = b.column(column);
                for (int64_t step = 0; step < n; ++step) {
                  const int64_t j = forward ? step : n - 1 - step;
                  const V* below = factor.column(j);
                  x[j] /= below[j];
                  const int64_t first = forward ? j + 1 : 0, end = forward ? n : j;
                  for (int64_t i = first; i < end; ++i)
                    x[i] -= below[i] * x[j];
                }
              });
}

cublasStatus_t copy_triangle(const cublasContext& handle, cublasFillMode_t uplo, const Triangle& from,
                             const Triangle& to);

} // namespace lemma::cublas
