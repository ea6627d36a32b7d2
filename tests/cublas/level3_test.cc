// Matrices: symmetric, Hermitian, triangular and diagonal ones; sums of two.
#include "fixture.h"

namespace {

TYPED_TEST_SUITE(OfType, AllTypes);

// C = alpha * A * B + beta * C with a symmetric or Hermitian A, of which the other triangle does not count.
template <class T, class Forms>
void check_symm(Cublas& test, bool hermitian, Forms forms) {
  both(forms, [&](auto f) {
    for (const cublasSideMode_t side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
      const cublasFillMode_t uplo = test.fill();
      const int64_t m = test.between(1, 12), n = test.between(1, 12), size = side == CUBLAS_SIDE_LEFT ? m : n;
      const Host a = test.matrix<T>(size, size), b = test.matrix<T>(m, n), c = test.matrix<T>(m, n);
      const Complex alpha = test.element<T>(), beta = test.element<T>();
      const T of_product = from_complex<T>(alpha), of_c = from_complex<T>(beta);
      const Device<T> on_a(a), on_b(b), on_c(c);
      OK(f(test.handle, side, uplo, m, n, &of_product, on_a, on_a.ld(), on_b, on_b.ld(), &of_c, on_c,
           on_c.ld()));
      const Host whole = symmetric(a, uplo, hermitian);
      const Host product = side == CUBLAS_SIDE_LEFT ? whole * b : b * whole;
      EXPECT_EQ(on_c.get().values, (alpha * product + beta * c).values);
    }
  });
}

// syrk, syr2k and syrkx, or the Hermitian ones, whose beta, and herk's alpha, are real.
template <class T, class K, class TwoK, class Kx>
void check_rank_k(Cublas& test, bool hermitian, K rank_k, TwoK rank_2k, Kx rank_kx) {
  using Scale = std::conditional_t<TypeOf<T>::complex, RealOf<T>, T>;
  for (int turn = 0; turn < 3; ++turn) {
    const cublasFillMode_t uplo = test.fill();
    const cublasOperation_t prime = hermitian ? CUBLAS_OP_C : CUBLAS_OP_T,
                            op = turn % 2 ? prime : CUBLAS_OP_N;
    const int64_t n = test.between(1, 12), k = test.between(1, 20);
    const Host a = op == CUBLAS_OP_N ? test.matrix<T>(n, k) : test.matrix<T>(k, n), b = [&] {
      Host made = test.matrix<T>(a.rows, a.columns);
      return made;
    }();
    const Host c = hermitian ? symmetric(test.matrix<T>(n, n), uplo, true) : test.matrix<T>(n, n);
    const Complex alpha = test.element<T>();
    const T factor = from_complex<T>(alpha), three = from_complex<T>(3), two = from_complex<T>(2);
    const Scale real_three = 3, real_two = 2;
    const Device<T> on_a(a), on_b(b);
    const auto product = [&](const Host& left, const Host& right) {
      return op == CUBLAS_OP_N ? left * transformed(right, prime) : transformed(left, prime) * right;
    };
    const auto wanted = [&](const Host& products) {
      return merged(c, products + Complex(2) * c, uplo).values;
    };
    both(rank_k, [&](auto f) {
      const Device<T> on_c(c);
      if constexpr (std::is_invocable_v<decltype(f), cublasHandle_t, cublasFillMode_t, cublasOperation_t, int,
                                        int, const T*, const T*, int, const T*, T*, int>)
        OK(f(test.handle, uplo, op, n, k, &three, on_a, on_a.ld(), &two, on_c, on_c.ld()));
      else
        OK(f(test.handle, uplo, op, n, k, &real_three, on_a, on_a.ld(), &real_two, on_c, on_c.ld()));
      EXPECT_EQ(on_c.get().values, wanted(Complex(3) * product(a, a)));
    });
    const auto with_two = [&](auto f, const Device<T>& on_c) {
      if constexpr (std::is_invocable_v<decltype(f), cublasHandle_t, cublasFillMode_t, cublasOperation_t, int,
                                        int, const T*, const T*, int, const T*, int, const T*, T*, int>)
        OK(f(test.handle, uplo, op, n, k, &factor, on_a, on_a.ld(), on_b, on_b.ld(), &two, on_c, on_c.ld()));
      else
        OK(f(test.handle, uplo, op, n, k, &factor, on_a, on_a.ld(), on_b, on_b.ld(), &real_two, on_c,
             on_c.ld()));
    };
    both(rank_2k, [&](auto f) {
      const Device<T> on_c(c);
      with_two(f, on_c);
      EXPECT_EQ(on_c.get().values,
                wanted(alpha * product(a, b) + (hermitian ? std::conj(alpha) : alpha) * product(b, a)));
    });
    both(rank_kx, [&](auto f) {
      const Device<T> on_c(c);
      with_two(f, on_c);
      Host products = alpha * product(a, b);
      for (int64_t i = 0; hermitian && i < n; ++i)
        products(i, i) = products(i, i).real();
      EXPECT_EQ(on_c.get().values, wanted(products));
    });
  }
}

TYPED_TEST(OfType, SymmetricMatrices) {
  using T = TypeParam;
  check_symm<T>(*this, false, FORMS(symm_v2));
  check_rank_k<T>(*this, false, FORMS(syrk_v2), FORMS(syr2k_v2), FORMS(syrkx));
}

TYPED_TEST_SUITE(OfComplex, ComplexTypes);

TYPED_TEST(OfComplex, HermitianMatrices) {
  using T = TypeParam;
  check_symm<T>(*this, true, COMPLEX_FORMS(hemm_v2));
  check_rank_k<T>(*this, true, COMPLEX_FORMS(herk_v2), COMPLEX_FORMS(her2k_v2), COMPLEX_FORMS(herkx));
}

// The solution gives back what was multiplied: with a diagonal of 1, -1, i, and alpha 2, that is exact.
TYPED_TEST(OfType, TriangularMatrices) {
  using T = TypeParam;
  for (const cublasSideMode_t side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT})
    for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
      const cublasFillMode_t uplo = this->fill();
      const cublasDiagType_t diagonal = this->one_of({CUBLAS_DIAG_UNIT, CUBLAS_DIAG_NON_UNIT});
      const int64_t m = this->between(1, 6), n = this->between(1, 6), size = side == CUBLAS_SIDE_LEFT ? m : n;
      Host a = this->template matrix<T>(size, size);
      for (int64_t i = 0; i < size; ++i)
        a(i, i) = TypeOf<T>::complex && i % 2 ? Complex(0, 1) : Complex(i % 2 ? -1 : 1);
      const Host x = this->template matrix<T>(m, n), factor = transformed(triangle(a, uplo, diagonal), op);
      const Host product = side == CUBLAS_SIDE_LEFT ? factor * x : x * factor;
      const T two = from_complex<T>(2);
      const Device<T> on_a(a), on_x(x);
      both(FORMS(trmm_v2), [&](auto f) {
        const Device<T> to(this->template matrix<T>(m, n));
        OK(f(this->handle, side, uplo, op, diagonal, m, n, &two, on_a, on_a.ld(), on_x, on_x.ld(), to,
             to.ld()));
        EXPECT_EQ(to.get().values, (Complex(2) * product).values);
      });
      both(FORMS(trsm_v2), [&](auto f) {
        const Device<T> to(product);
        OK(f(this->handle, side, uplo, op, diagonal, m, n, &two, on_a, on_a.ld(), to, to.ld()));
        EXPECT_EQ(to.get().values, (Complex(2) * x).values);
      });
      both(FORMS(trsmBatched), [&](auto f) {
        const Device<T> first(product), second(product);
        const Array<T*> all_a({on_a, on_a}), all({first, second});
        OK(f(this->handle, side, uplo, op, diagonal, m, n, &two, all_a, on_a.ld(), all, first.ld(), 2));
        EXPECT_EQ(first.get().values, (Complex(2) * x).values);
        EXPECT_EQ(second.get().values, (Complex(2) * x).values);
      });
    }
}

TYPED_TEST(OfType, SumsAndDiagonals) {
  using T = TypeParam;
  const int64_t m = 5, n = 7;
  both(FORMS(geam), [&](auto f) {
    const cublasOperation_t op_a = this->operation(), op_b = this->operation();
    const Host a = op_a == CUBLAS_OP_N ? this->template matrix<T>(m, n) : this->template matrix<T>(n, m);
    const Host b = op_b == CUBLAS_OP_N ? this->template matrix<T>(m, n) : this->template matrix<T>(n, m);
    const Complex alpha = this->template element<T>(), beta = this->template element<T>();
    const T of_a = from_complex<T>(alpha), of_b = from_complex<T>(beta);
    const Device<T> on_a(a), on_b(b), to(this->template matrix<T>(m, n));
    OK(f(this->handle, op_a, op_b, m, n, &of_a, on_a, on_a.ld(), &of_b, on_b, on_b.ld(), to, to.ld()));
    EXPECT_EQ(to.get().values, (alpha * transformed(a, op_a) + beta * transformed(b, op_b)).values);
  });
  both(FORMS(dgmm), [&](auto f) {
    for (const cublasSideMode_t side : {CUBLAS_SIDE_LEFT, CUBLAS_SIDE_RIGHT}) {
      const Host a = this->template matrix<T>(m, n);
      const auto x = this->template vector<T>(side == CUBLAS_SIDE_LEFT ? m : n);
      const Device<T> on_a(a), to(a);
      OK(f(this->handle, side, m, n, on_a, on_a.ld(), Spaced<T>(x, -2), -2, to, to.ld()));
      Host wanted = a;
      for (int64_t j = 0; j < n; ++j)
        for (int64_t i = 0; i < m; ++i)
          wanted(i, j) *= x[static_cast<size_t>(side == CUBLAS_SIDE_LEFT ? i : j)];
      EXPECT_EQ(to.get().values, wanted.values);
    }
  });
}

} // namespace
