// Matrices and vectors in the device's memory: column-major, elements `ld` apart from column to column, and
// what they hold as dense values of the host. Bytes between columns, and the other triangle, are left alone.
//
// Tests: tests/cublas.
#pragma once

#include "cublas/call.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace lemma::cublas {

// rows * columns. Throws std::bad_alloc where so many elements would not fit half of the host's memory, which
// would be promised, and not be there.
size_t checked_count(int64_t rows, int64_t columns, size_t element_bytes);

// Values, column-major, without gaps.
template <class V>
struct Dense {
  int64_t rows = 0, columns = 0;
  std::vector<V> values;

  Dense() = default;
  Dense(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), values(checked_count(rows, columns, sizeof(V))) {}
  V& operator()(int64_t i, int64_t j) { return values[static_cast<size_t>(j * rows + i)]; }
  const V& operator()(int64_t i, int64_t j) const { return values[static_cast<size_t>(j * rows + i)]; }
  V* column(int64_t j) { return values.data() + j * rows; }
  const V* column(int64_t j) const { return values.data() + j * rows; }
};

struct Matrix {
  CUdeviceptr address = 0;
  cudaDataType type = CUDA_R_32F;
  int64_t rows = 0, columns = 0, ld = 0;

  Matrix at(int64_t element) const {
    Matrix other = *this;
    other.address += static_cast<uint64_t>(element) * bytes_of(type);
    return other;
  }
  Matrix part(int64_t row, int64_t column, int64_t row_count, int64_t column_count) const {
    Matrix other = at(row + column * ld);
    other.rows = row_count;
    other.columns = column_count;
    return other;
  }
};

inline Matrix matrix(const void* pointer, cudaDataType type, int64_t rows, int64_t columns, int64_t ld) {
  require(rows >= 0 && columns >= 0 && ld >= std::max<int64_t>(1, rows));
  return {address_of(pointer), type, rows, columns, ld};
}

template <class V>
Dense<V> load(const Memory& memory, const Matrix& from) {
  Dense<V> to(from.rows, from.columns);
  const size_t element = bytes_of(from.type), row = element * static_cast<size_t>(from.rows);
  std::vector<std::byte> bytes(row * static_cast<size_t>(from.columns));
  if (!bytes.empty())
    memory.read(bytes.data(), from.address, row, from.columns, element * static_cast<size_t>(from.ld));
  decode(from.type, bytes.data(), from.rows * from.columns, to.values.data());
  return to;
}

template <class V>
void store(const Memory& memory, const Matrix& to, const V* values) {
  const size_t element = bytes_of(to.type), row = element * static_cast<size_t>(to.rows);
  std::vector<std::byte> bytes(row * static_cast<size_t>(to.columns));
  encode(to.type, values, to.rows * to.columns, bytes.data());
  if (!bytes.empty())
    memory.write(to.address, bytes.data(), row, to.columns, element * static_cast<size_t>(to.ld));
}
template <class V>
void store(const Memory& memory, const Matrix& to, const Dense<V>& from) {
  store(memory, to, from.values.data());
}

// f(first row, rows) of each column of a triangle of a square matrix, with its diagonal.
template <class F>
void each_column_of_triangle(cublasFillMode_t uplo, int64_t n, F&& f) {
  for (int64_t j = 0; j < n; ++j)
    uplo == CUBLAS_FILL_MODE_LOWER ? f(j, j, n - j) : f(j, int64_t{0}, j + 1);
}

// Zeros in the other triangle.
template <class V>
Dense<V> load_triangle(const Memory& memory, const Matrix& from, cublasFillMode_t uplo) {
  if (uplo == CUBLAS_FILL_MODE_FULL)
    return load<V>(memory, from);
  Dense<V> to(from.rows, from.columns);
  each_column_of_triangle(uplo, from.rows, [&](int64_t j, int64_t first, int64_t rows) {
    const Dense<V> column = load<V>(memory, from.part(first, j, rows, 1));
    std::copy(column.values.begin(), column.values.end(), to.column(j) + first);
  });
  return to;
}
template <class V>
void store_triangle(const Memory& memory, const Matrix& to, cublasFillMode_t uplo, const Dense<V>& from) {
  if (uplo == CUBLAS_FILL_MODE_FULL)
    return store(memory, to, from);
  each_column_of_triangle(uplo, to.rows, [&](int64_t j, int64_t first, int64_t rows) {
    store(memory, to.part(first, j, rows, 1), from.column(j) + first);
  });
}

// Elements `increment` apart; backwards from the last where it is negative.
struct Vector {
  CUdeviceptr address = 0;
  cudaDataType type = CUDA_R_32F;
  int64_t n = 0, increment = 1;

  bool is_backward() const { return increment < 0; }
  // 1 x n, in the order of memory.
  Matrix as_matrix() const {
    return increment == 1 ? Matrix{address, type, n, 1, n}
                          : Matrix{address, type, 1, n, std::max<int64_t>(std::abs(increment), 1)};
  }
};

inline Vector vector(const void* pointer, cudaDataType type, int64_t n, int64_t increment) {
  return {address_of(pointer), type, n, increment};
}

template <class V>
std::vector<V> load(const Memory& memory, const Vector& from) {
  if (from.n <= 0)
    return {};
  if (from.increment == 0) // one element for all
    return std::vector<V>(static_cast<size_t>(from.n),
                          load<V>(memory, Matrix{from.address, from.type, 1, 1, 1})(0, 0));
  std::vector<V> to = std::move(load<V>(memory, from.as_matrix()).values);
  if (from.is_backward())
    std::reverse(to.begin(), to.end());
  return to;
}
template <class V>
void store(const Memory& memory, const Vector& to, std::vector<V> from) {
  if (to.n <= 0)
    return;
  if (to.is_backward())
    std::reverse(from.begin(), from.end());
  store(memory, to.as_matrix(), from.data());
}

inline double conjugate(double value) {
  return value;
}
inline Complex conjugate(const Complex& value) {
  return std::conj(value);
}

template <class V>
Dense<V> transposed(const Dense<V>& from) {
  Dense<V> to(from.columns, from.rows);
  for (int64_t j = 0; j < from.columns; ++j)
    for (int64_t i = 0; i < from.rows; ++i)
      to(j, i) = from(i, j);
  return to;
}

inline void require_operation(cublasOperation_t op) {
  require(op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C);
}
inline void require_fill(cublasFillMode_t uplo) {
  require(uplo == CUBLAS_FILL_MODE_LOWER || uplo == CUBLAS_FILL_MODE_UPPER);
}

inline bool transposes(cublasOperation_t op) {
  return op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

// op(matrix) as an operand of multiply().
template <class V>
Strided<V> operand(const Dense<V>& matrix, cublasOperation_t op) {
  const bool conjugates = op == CUBLAS_OP_C || op == CUBLAS_OP_CONJG;
  return transposes(op) ? Strided<V>{matrix.values.data(), matrix.rows, 1, conjugates}
                        : Strided<V>{matrix.values.data(), 1, matrix.rows, conjugates};
}
template <class V>
Dense<V> product(const Dense<V>& a, cublasOperation_t op_a, const Dense<V>& b, cublasOperation_t op_b) {
  const bool flip_a = transposes(op_a), flip_b = transposes(op_b);
  Dense<V> c(flip_a ? a.columns : a.rows, flip_b ? b.rows : b.columns);
  multiply(c.rows, c.columns, flip_a ? a.rows : a.columns, operand(a, op_a), operand(b, op_b),
           c.values.data(), c.rows);
  return c;
}

} // namespace lemma::cublas
