// What the tests of this folder share: a handle, device memory, elements of every type as complex numbers,
// and which of cuBLAS's functions is the one of a type.
//
// Numbers are small integers, or halves of them: sums and products are exact in every order and type, so that
// results are compared for equality with plain loops. Where something is divided, tests say how near results
// must be.
#pragma once

#include "cublas/api.h"
#include "driver/api.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <random>
#include <tuple>
#include <vector>

using Complex = std::complex<double>;

#define OK(...) EXPECT_EQ((__VA_ARGS__), CUBLAS_STATUS_SUCCESS) << #__VA_ARGS__
#define CUDA(...) ASSERT_EQ((__VA_ARGS__), CUDA_SUCCESS) << #__VA_ARGS__

// f32 and f64, and complex numbers of them.
template <class T>
struct TypeOf;
template <>
struct TypeOf<float> {
  using Real = float;
  static constexpr int index = 0;
  static constexpr bool complex = false;
  static constexpr cudaDataType number = CUDA_R_32F;
};
template <>
struct TypeOf<double> {
  using Real = double;
  static constexpr int index = 1;
  static constexpr bool complex = false;
  static constexpr cudaDataType number = CUDA_R_64F;
};
template <>
struct TypeOf<cuComplex> {
  using Real = float;
  static constexpr int index = 2;
  static constexpr bool complex = true;
  static constexpr cudaDataType number = CUDA_C_32F;
};
template <>
struct TypeOf<cuDoubleComplex> {
  using Real = double;
  static constexpr int index = 3;
  static constexpr bool complex = true;
  static constexpr cudaDataType number = CUDA_C_64F;
};
template <class T>
using RealOf = typename TypeOf<T>::Real;

template <class T>
T from_complex(Complex value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(value.real());
  else
    return {static_cast<decltype(T::x)>(value.real()), static_cast<decltype(T::x)>(value.imag())};
}
template <class T>
Complex to_complex(T value) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(value);
  else
    return {value.x, value.y};
}

// A function of both widths of sizes: body(f) is called with each.
template <class Narrow, class Wide, class Body>
void both(std::pair<Narrow, Wide> forms, Body body) {
  body(forms.first);
  body(forms.second);
}
// Of four functions, that of T. Of two, that of a real T, or of a complex one.
template <class T, class... F>
auto pick(F... f) {
  constexpr int index = sizeof...(F) == 4 ? TypeOf<T>::index : TypeOf<T>::index % 2;
  return std::get<index>(std::tuple(f...));
}
#define FORMS(name)                                                                                          \
  std::pair(pick<T>(cublasS##name, cublasD##name, cublasC##name, cublasZ##name),                             \
            pick<T>(cublasS##name##_64, cublasD##name##_64, cublasC##name##_64, cublasZ##name##_64))
#define REAL_FORMS(name)                                                                                     \
  std::pair(pick<T>(cublasS##name, cublasD##name), pick<T>(cublasS##name##_64, cublasD##name##_64))
#define COMPLEX_FORMS(name)                                                                                  \
  std::pair(pick<T>(cublasC##name, cublasZ##name), pick<T>(cublasC##name##_64, cublasZ##name##_64))
#define WIDTHS(symbol) std::pair(&symbol, &symbol##_64)
#define NARROW_FORMS(name) pick<T>(cublasS##name, cublasD##name, cublasC##name, cublasZ##name)

// Bytes of the device's memory, freed at the end.
class Bytes {
public:
  explicit Bytes(const void* from, size_t bytes) {
    EXPECT_EQ(cuMemAlloc_v2(&address_, std::max<size_t>(bytes, 1)), CUDA_SUCCESS);
    if (bytes > 0) {
      EXPECT_EQ(cuMemcpyHtoD_v2(address_, from, bytes), CUDA_SUCCESS);
    }
  }
  ~Bytes() { cuMemFree_v2(address_); }
  Bytes(const Bytes&) = delete;
  CUdeviceptr address() const { return address_; }

private:
  CUdeviceptr address_ = 0;
};

template <class T>
class Array {
public:
  explicit Array(const std::vector<T>& values)
      : size_(values.size()), bytes_(values.data(), values.size() * sizeof(T)) {}
  T* at(size_t i = 0) const { return reinterpret_cast<T*>(bytes_.address()) + i; }
  operator T*() const { return at(); }
  std::vector<T> get() const {
    std::vector<T> values(size_);
    EXPECT_EQ(cuMemcpyDtoH_v2(values.data(), bytes_.address(), size_ * sizeof(T)), CUDA_SUCCESS);
    return values;
  }

private:
  size_t size_;
  Bytes bytes_;
};

// A matrix of the host's, column-major, without gaps.
struct Host {
  int64_t rows = 0, columns = 0;
  std::vector<Complex> values;

  Host(int64_t rows, int64_t columns)
      : rows(rows), columns(columns), values(static_cast<size_t>(rows * columns)) {}
  Complex& operator()(int64_t i, int64_t j) { return values[static_cast<size_t>(j * rows + i)]; }
  Complex operator()(int64_t i, int64_t j) const { return values[static_cast<size_t>(j * rows + i)]; }
};

inline Host transformed(const Host& a, cublasOperation_t op) {
  if (op == CUBLAS_OP_N)
    return a;
  Host to(a.columns, a.rows);
  for (int64_t j = 0; j < a.columns; ++j)
    for (int64_t i = 0; i < a.rows; ++i)
      to(j, i) = op == CUBLAS_OP_C ? std::conj(a(i, j)) : a(i, j);
  return to;
}
inline Host operator*(const Host& a, const Host& b) {
  Host to(a.rows, b.columns);
  for (int64_t j = 0; j < b.columns; ++j)
    for (int64_t p = 0; p < a.columns; ++p)
      for (int64_t i = 0; i < a.rows; ++i)
        to(i, j) += a(i, p) * b(p, j);
  return to;
}
inline Host operator+(Host a, const Host& b) {
  for (size_t i = 0; i < a.values.size(); ++i)
    a.values[i] += b.values[i];
  return a;
}
inline Host operator*(Complex factor, Host a) {
  for (Complex& value : a.values)
    value *= factor;
  return a;
}

// The same on the device, with a gap below each column, which must stay as it is.
template <class T>
class Device {
public:
  explicit Device(const Host& host, int64_t gap = 3)
      : rows_(host.rows), columns_(host.columns), ld_(host.rows + gap), array_(spread(host)) {}
  int64_t ld() const { return ld_; }
  operator T*() const { return array_; }
  // Fails the test where the gap has changed.
  Host get() const {
    Host to(rows_, columns_);
    const std::vector<T> all = array_.get();
    for (int64_t j = 0; j < columns_; ++j)
      for (int64_t i = 0; i < ld_; ++i) {
        const Complex value = to_complex(all[static_cast<size_t>(j * ld_ + i)]);
        if (i < rows_)
          to(i, j) = value;
        else
          EXPECT_EQ(value, kGap) << "row " << i << " of column " << j << " is none of the matrix";
      }
    return to;
  }

private:
  static constexpr double kGap = -77;
  std::vector<T> spread(const Host& host) const {
    std::vector<T> all(static_cast<size_t>(ld_ * columns_), from_complex<T>(kGap));
    for (int64_t j = 0; j < columns_; ++j)
      for (int64_t i = 0; i < rows_; ++i)
        all[static_cast<size_t>(j * ld_ + i)] = from_complex<T>(host(i, j));
    return all;
  }
  int64_t rows_, columns_, ld_;
  Array<T> array_;
};

// A vector whose elements are `increment` apart: a matrix of one row; backwards if it is negative.
template <class T>
class Spaced {
public:
  Spaced(const std::vector<Complex>& values, int64_t increment)
      : increment_(increment), n_(static_cast<int64_t>(values.size())),
        device_(in_memory(values), std::abs(increment) - 1) {}
  int64_t increment() const { return increment_; }
  operator T*() const { return device_; }
  std::vector<Complex> get() const {
    const Host all = device_.get();
    std::vector<Complex> values = all.values;
    if (increment_ < 0)
      std::reverse(values.begin(), values.end());
    return values;
  }

private:
  Host in_memory(std::vector<Complex> values) const {
    if (increment_ < 0)
      std::reverse(values.begin(), values.end());
    Host host(1, n_);
    host.values = std::move(values);
    return host;
  }
  int64_t increment_, n_;
  Device<T> device_;
};

class Cublas : public testing::Test {
public:
  double number() { return std::uniform_int_distribution<int>(-6, 6)(random) / 2.0; }
  int64_t between(int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  }
  template <class T>
  Complex element() {
    const double real = number();
    return TypeOf<T>::complex ? Complex(real, number()) : Complex(real);
  }
  template <class T>
  Host matrix(int64_t rows, int64_t columns) {
    Host made(rows, columns);
    for (Complex& value : made.values)
      value = element<T>();
    return made;
  }
  template <class T>
  std::vector<Complex> vector(int64_t n) {
    return matrix<T>(n, 1).values;
  }
  template <class E>
  E one_of(std::initializer_list<E> all) {
    return all.begin()[between(0, static_cast<int64_t>(all.size()) - 1)];
  }
  cublasOperation_t operation() { return one_of({CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}); }
  cublasFillMode_t fill() { return one_of({CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}); }

  cublasHandle_t handle = nullptr;
  std::mt19937 random{20261129};

protected:
  void SetUp() override { OK(cublasCreate_v2(&handle)); }
  void TearDown() override {
    OK(cublasDestroy_v2(handle));
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
  }
};

template <class T>
class OfType : public Cublas {};
template <class T>
class OfReal : public Cublas {};
template <class T>
class OfComplex : public Cublas {};
using AllTypes = testing::Types<float, double, cuComplex, cuDoubleComplex>;
using RealTypes = testing::Types<float, double>;
using ComplexTypes = testing::Types<cuComplex, cuDoubleComplex>;

// Whether (i, j) is of the triangle.
inline bool is_of(cublasFillMode_t uplo, int64_t i, int64_t j) {
  return uplo == CUBLAS_FILL_MODE_LOWER ? i >= j : i <= j;
}
inline Host triangle(const Host& a, cublasFillMode_t uplo, cublasDiagType_t diagonal = CUBLAS_DIAG_NON_UNIT) {
  Host to(a.rows, a.columns);
  for (int64_t j = 0; j < a.columns; ++j)
    for (int64_t i = 0; i < a.rows; ++i)
      to(i, j) = i == j && diagonal == CUBLAS_DIAG_UNIT ? 1 : is_of(uplo, i, j) ? a(i, j) : 0;
  return to;
}
inline Host symmetric(const Host& a, cublasFillMode_t uplo, bool hermitian) {
  Host to(a.rows, a.columns);
  for (int64_t j = 0; j < a.columns; ++j)
    for (int64_t i = 0; i < a.rows; ++i)
      to(i, j) = i == j && hermitian ? a(i, i).real()
                 : is_of(uplo, i, j) ? a(i, j)
                 : hermitian         ? std::conj(a(j, i))
                                     : a(j, i);
  return to;
}
// `after` in the triangle, `before` elsewhere.
inline Host merged(const Host& before, const Host& after, cublasFillMode_t uplo) {
  Host to = before;
  for (int64_t j = 0; j < to.columns; ++j)
    for (int64_t i = 0; i < to.rows; ++i)
      if (is_of(uplo, i, j))
        to(i, j) = after(i, j);
  return to;
}
