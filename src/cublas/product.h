// Products of matrices of f64: each output is one chain of fma along K, k ascending, from +0, so that the
// bits are the same on every host, however the work is divided. A host without fma computes it in software.
//
// Tests: tests/cublas.
#pragma once

#include <complex>
#include <cstdint>

namespace lemma::cublas {

using Complex = std::complex<double>;

// An operand: element (i, j) is at[i * down + j * across], in elements.
template <class V>
struct Strided {
  const V* at;
  int64_t down, across;
  bool conjugate = false;
};

// C (m x n, column-major, ldc >= m) = A (m x k) * B (k x n). C overlaps with neither. Large ones are divided
// among the host's processors.
void multiply(int64_t m, int64_t n, int64_t k, const Strided<double>& a, const Strided<double>& b, double* c,
              int64_t ldc);
// Real parts and imaginary parts: the sum over k of the products of the one kind, then of the other.
void multiply(int64_t m, int64_t n, int64_t k, const Strided<Complex>& a, const Strided<Complex>& b,
              Complex* c, int64_t ldc);

// Calls f(i) for each i < count, several at a time if `work` (multiply-adds in all) is worth it.
void in_parallel(int64_t count, double work, const void* context, void (*f)(const void* context, int64_t i));
template <class F>
void in_parallel(int64_t count, double work, const F& f) {
  in_parallel(count, work, &f, [](const void* context, int64_t i) { (*static_cast<const F*>(context))(i); });
}

} // namespace lemma::cublas
