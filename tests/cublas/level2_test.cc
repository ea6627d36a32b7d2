// A matrix and vectors: full, banded and packed; the other triangle and the gaps are left alone.
#include "fixture.h"

namespace {

Host column(const std::vector<Complex>& values) {
  Host host(static_cast<int64_t>(values.size()), 1);
  host.values = values;
  return host;
}

// A's diagonals, as BLAS stores a band: element (i, j) in row ku + i - j of column j.
Host banded(const Host& a, int64_t kl, int64_t ku) {
  Host band(kl + ku + 1, a.columns);
  for (int64_t j = 0; j < a.columns; ++j)
    for (int64_t i = std::max<int64_t>(0, j - ku); i < std::min(a.rows, j + kl + 1); ++i)
      band(ku + i - j, j) = a(i, j);
  return band;
}
Host only_band(Host a, int64_t kl, int64_t ku) {
  for (int64_t j = 0; j < a.columns; ++j)
    for (int64_t i = 0; i < a.rows; ++i)
      if (i - j > kl || j - i > ku)
        a(i, j) = 0;
  return a;
}
std::vector<Complex> packed(const Host& a, cublasFillMode_t uplo) {
  std::vector<Complex> all;
  for (int64_t j = 0; j < a.columns; ++j)
    for (int64_t i = 0; i < a.rows; ++i)
      if (is_of(uplo, i, j))
        all.push_back(a(i, j));
  return all;
}

template <class T>
T scalar(Complex value) {
  return from_complex<T>(value);
}

TYPED_TEST_SUITE(OfType, AllTypes);

TYPED_TEST(OfType, Gemv) {
  using T = TypeParam;
  for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    const int64_t m = this->between(1, 30), n = this->between(1, 30), kl = 2, ku = 1;
    const int64_t from = op == CUBLAS_OP_N ? n : m, to = op == CUBLAS_OP_N ? m : n;
    const Host a = this->template matrix<T>(m, n);
    const auto x = this->template vector<T>(from), y = this->template vector<T>(to);
    const Complex alpha = this->template element<T>(), beta = this->template element<T>();
    const T of_product = scalar<T>(alpha), of_y = scalar<T>(beta);
    const Device<T> on_a(a), band(banded(a, kl, ku));
    const Spaced<T> on_x(x, -2);
    both(FORMS(gemv_v2), [&](auto f) {
      const Spaced<T> on_y(y, 3);
      OK(f(this->handle, op, m, n, &of_product, on_a, on_a.ld(), on_x, -2, &of_y, on_y, 3));
      EXPECT_EQ(on_y.get(), (alpha * (transformed(a, op) * column(x)) + beta * column(y)).values);
    });
    both(FORMS(gbmv_v2), [&](auto f) {
      const Spaced<T> on_y(y, 1);
      OK(f(this->handle, op, m, n, kl, ku, &of_product, band, band.ld(), on_x, -2, &of_y, on_y, 1));
      EXPECT_EQ(on_y.get(),
                (alpha * (transformed(only_band(a, kl, ku), op) * column(x)) + beta * column(y)).values);
    });
  }
}

// symv, sbmv and spmv, or the Hermitian ones.
template <class T, class Full, class Band, class Packed>
void check_symmetric(Cublas& test, bool hermitian, Full full, Band band, Packed packed_form) {
  for (const cublasFillMode_t uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
    const int64_t n = test.between(1, 12), k = 1;
    const Host a = test.matrix<T>(n, n);
    const auto x = test.vector<T>(n), y = test.vector<T>(n);
    const Complex alpha = test.element<T>(), beta = test.element<T>();
    const T of_product = scalar<T>(alpha), of_y = scalar<T>(beta);
    const Spaced<T> on_x(x, 2);
    const auto wanted = [&](const Host& of) {
      return (alpha * (symmetric(of, uplo, hermitian) * column(x)) + beta * column(y)).values;
    };
    const Device<T> on_a(a), on_band(uplo == CUBLAS_FILL_MODE_LOWER ? banded(a, k, 0) : banded(a, 0, k));
    const Spaced<T> on_packed(packed(a, uplo), 1);
    both(full, [&](auto f) {
      const Spaced<T> on_y(y, -1);
      OK(f(test.handle, uplo, n, &of_product, on_a, on_a.ld(), on_x, 2, &of_y, on_y, -1));
      EXPECT_EQ(on_y.get(), wanted(a));
    });
    both(band, [&](auto f) {
      const Spaced<T> on_y(y, 1);
      OK(f(test.handle, uplo, n, k, &of_product, on_band, on_band.ld(), on_x, 2, &of_y, on_y, 1));
      EXPECT_EQ(on_y.get(), wanted(only_band(a, k, k)));
    });
    both(packed_form, [&](auto f) {
      const Spaced<T> on_y(y, 1);
      OK(f(test.handle, uplo, n, &of_product, on_packed, on_x, 2, &of_y, on_y, 1));
      EXPECT_EQ(on_y.get(), wanted(a));
    });
  }
}

// syr, syr2, spr and spr2, or the Hermitian ones.
template <class T, class One, class Two, class PackedOne, class PackedTwo>
void check_updates(Cublas& test, bool hermitian, One one, Two two, PackedOne packed_one,
                   PackedTwo packed_two) {
  using Alpha = std::remove_cvref_t<T>;
  for (const cublasFillMode_t uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
    const int64_t n = test.between(2, 9);
    const Host a = hermitian ? symmetric(test.matrix<T>(n, n), uplo, true) : test.matrix<T>(n, n);
    const auto x = test.vector<T>(n), y = test.vector<T>(n);
    const cublasOperation_t prime = hermitian ? CUBLAS_OP_C : CUBLAS_OP_T;
    const Complex alpha = hermitian ? Complex(2) : test.element<T>(), alpha_of_two = test.element<T>();
    const Alpha factor_of_two = scalar<Alpha>(alpha_of_two);
    const Host by_one = a + alpha * (column(x) * transformed(column(x), prime));
    const Host by_two =
        a + alpha_of_two * (column(x) * transformed(column(y), prime)) +
        (hermitian ? std::conj(alpha_of_two) : alpha_of_two) * (column(y) * transformed(column(x), prime));
    const Spaced<T> on_x(x, 2), on_y(y, -1);
    const auto with_alpha = [&](auto call) {
      if (hermitian) {
        const RealOf<T> factor = 2;
        if constexpr (TypeOf<T>::complex)
          call(&factor);
      } else if constexpr (!std::is_same_v<Alpha, void>) {
        const Alpha factor = scalar<Alpha>(alpha);
        call(&factor);
      }
    };
    both(one, [&](auto f) {
      const Device<T> on_a(a);
      with_alpha([&](auto factor) {
        if constexpr (std::is_invocable_v<decltype(f), cublasHandle_t, cublasFillMode_t, int,
                                          decltype(factor), const T*, int, T*, int>) {
          OK(f(test.handle, uplo, n, factor, on_x, 2, on_a, on_a.ld()));
          EXPECT_EQ(on_a.get().values, merged(a, by_one, uplo).values);
        }
      });
    });
    both(packed_one, [&](auto f) {
      const Spaced<T> on_a(packed(a, uplo), 1);
      with_alpha([&](auto factor) {
        if constexpr (std::is_invocable_v<decltype(f), cublasHandle_t, cublasFillMode_t, int,
                                          decltype(factor), const T*, int, T*>) {
          OK(f(test.handle, uplo, n, factor, on_x, 2, on_a));
          EXPECT_EQ(on_a.get(), packed(by_one, uplo));
        }
      });
    });
    both(two, [&](auto f) {
      const Device<T> on_a(a);
      OK(f(test.handle, uplo, n, &factor_of_two, on_x, 2, on_y, -1, on_a, on_a.ld()));
      EXPECT_EQ(on_a.get().values, merged(a, by_two, uplo).values);
    });
    both(packed_two, [&](auto f) {
      const Spaced<T> on_a(packed(a, uplo), 1);
      OK(f(test.handle, uplo, n, &factor_of_two, on_x, 2, on_y, -1, on_a));
      EXPECT_EQ(on_a.get(), packed(by_two, uplo));
    });
  }
}

TYPED_TEST_SUITE(OfReal, RealTypes);

TYPED_TEST(OfReal, Symmetric) {
  using T = TypeParam;
  check_symmetric<T>(*this, false, REAL_FORMS(symv_v2), REAL_FORMS(sbmv_v2), REAL_FORMS(spmv_v2));
  check_updates<T>(*this, false, REAL_FORMS(syr_v2), REAL_FORMS(syr2_v2), REAL_FORMS(spr_v2),
                   REAL_FORMS(spr2_v2));
  both(REAL_FORMS(ger_v2), [&](auto f) {
    const auto x = this->template vector<T>(5), y = this->template vector<T>(3);
    const Host a = this->template matrix<T>(5, 3);
    const Device<T> on_a(a);
    const T alpha = 2;
    OK(f(this->handle, 5, 3, &alpha, Spaced<T>(x, 2), 2, Spaced<T>(y, -1), -1, on_a, on_a.ld()));
    EXPECT_EQ(on_a.get().values, (a + Complex(2) * (column(x) * transformed(column(y), CUBLAS_OP_T))).values);
  });
}

TYPED_TEST_SUITE(OfComplex, ComplexTypes);

TYPED_TEST(OfComplex, Hermitian) {
  using T = TypeParam;
  check_symmetric<T>(*this, true, COMPLEX_FORMS(hemv_v2), COMPLEX_FORMS(hbmv_v2), COMPLEX_FORMS(hpmv_v2));
  check_updates<T>(*this, true, COMPLEX_FORMS(her_v2), COMPLEX_FORMS(her2_v2), COMPLEX_FORMS(hpr_v2),
                   COMPLEX_FORMS(hpr2_v2));
}

TYPED_TEST(OfComplex, SymmetricAndGer) {
  using T = TypeParam;
  const auto x = this->template vector<T>(5), y = this->template vector<T>(5);
  const Host a = this->template matrix<T>(5, 5);
  const T alpha = {1, 2}, beta = {0, 1};
  const Spaced<T> on_x(x, 2), on_y(y, 1);
  const Host product = column(x) * transformed(column(y), CUBLAS_OP_T),
             square = column(x) * transformed(column(x), CUBLAS_OP_T);
  const auto uplo = CUBLAS_FILL_MODE_UPPER;
  both(COMPLEX_FORMS(symv_v2), [&](auto f) {
    const Spaced<T> to(y, 1);
    const Device<T> on_a(a);
    OK(f(this->handle, uplo, 5, &alpha, on_a, on_a.ld(), on_x, 2, &beta, to, 1));
    EXPECT_EQ(to.get(),
              (Complex(1, 2) * (symmetric(a, uplo, false) * column(x)) + Complex(0, 1) * column(y)).values);
  });
  both(COMPLEX_FORMS(syr_v2), [&](auto f) {
    const Device<T> on_a(a);
    OK(f(this->handle, uplo, 5, &alpha, on_x, 2, on_a, on_a.ld()));
    EXPECT_EQ(on_a.get().values, merged(a, a + Complex(1, 2) * square, uplo).values);
  });
  both(COMPLEX_FORMS(syr2_v2), [&](auto f) {
    const Device<T> on_a(a);
    OK(f(this->handle, uplo, 5, &alpha, on_x, 2, on_y, 1, on_a, on_a.ld()));
    const Host both_products = product + transformed(product, CUBLAS_OP_T);
    EXPECT_EQ(on_a.get().values, merged(a, a + Complex(1, 2) * both_products, uplo).values);
  });
  both(COMPLEX_FORMS(geru_v2), [&](auto f) {
    const Device<T> on_a(a);
    OK(f(this->handle, 5, 5, &alpha, on_x, 2, on_y, 1, on_a, on_a.ld()));
    EXPECT_EQ(on_a.get().values, (a + Complex(1, 2) * product).values);
  });
  both(COMPLEX_FORMS(gerc_v2), [&](auto f) {
    const Device<T> on_a(a);
    OK(f(this->handle, 5, 5, &alpha, on_x, 2, on_y, 1, on_a, on_a.ld()));
    EXPECT_EQ(on_a.get().values,
              (a + Complex(1, 2) * (column(x) * transformed(column(y), CUBLAS_OP_C))).values);
  });
}

// What a product gives, a solution gives back: with a diagonal of 1, -1, i that is exact.
TYPED_TEST(OfType, Triangular) {
  using T = TypeParam;
  for (const cublasFillMode_t uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER})
    for (const cublasDiagType_t diagonal : {CUBLAS_DIAG_UNIT, CUBLAS_DIAG_NON_UNIT}) {
      const cublasOperation_t op = this->operation();
      const int64_t n = this->between(1, 7), k = 2;
      Host a = this->template matrix<T>(n, n);
      for (int64_t i = 0; i < n; ++i)
        a(i, i) = TypeOf<T>::complex && i % 2 ? Complex(0, 1) : Complex(i % 2 ? -1 : 1);
      const auto x = this->template vector<T>(n);
      const auto wanted = [&](const Host& of) {
        return (transformed(triangle(of, uplo, diagonal), op) * column(x)).values;
      };
      const auto check = [&](auto product, auto solution, const Host& of, auto... how) {
        both(product, [&](auto f) {
          const Spaced<T> to(x, 2);
          OK(f(this->handle, uplo, op, diagonal, how..., to, 2));
          EXPECT_EQ(to.get(), wanted(of));
        });
        both(solution, [&](auto f) {
          const Spaced<T> to(wanted(of), -1);
          OK(f(this->handle, uplo, op, diagonal, how..., to, -1));
          EXPECT_EQ(to.get(), x);
        });
      };
      const Device<T> full(a), band(uplo == CUBLAS_FILL_MODE_LOWER ? banded(a, k, 0) : banded(a, 0, k));
      const Spaced<T> pack(packed(a, uplo), 1);
      const T *at_full = full, *at_band = band, *at_pack = pack;
      check(FORMS(trmv_v2), FORMS(trsv_v2), a, n, at_full, full.ld());
      check(FORMS(tbmv_v2), FORMS(tbsv_v2), only_band(a, k, k), n, k, at_band, band.ld());
      check(FORMS(tpmv_v2), FORMS(tpsv_v2), a, n, at_pack);
    }
}

TYPED_TEST(OfType, PackedToFull) {
  using T = TypeParam;
  const Host a = this->template matrix<T>(5, 5), b = this->template matrix<T>(5, 5);
  for (const cublasFillMode_t uplo : {CUBLAS_FILL_MODE_LOWER, CUBLAS_FILL_MODE_UPPER}) {
    const Device<T> from(a), to(b);
    const Spaced<T> between(std::vector<Complex>(15), 1);
    OK(NARROW_FORMS(trttp)(this->handle, uplo, 5, from, static_cast<int>(from.ld()), between));
    EXPECT_EQ(between.get(), packed(a, uplo));
    OK(NARROW_FORMS(tpttr)(this->handle, uplo, 5, between, to, static_cast<int>(to.ld())));
    EXPECT_EQ(to.get().values, merged(b, a, uplo).values);
  }
}

} // namespace
