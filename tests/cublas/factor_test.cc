// LU, inverses, QR and least squares of batches: what they give, multiplied, is what they were given, as near
// as the type has it.
#include "fixture.h"

namespace {

constexpr int kCount = 2;

template <class T>
double tolerance() {
  return std::is_same_v<RealOf<T>, float> ? 1e-4 : 1e-12;
}

template <class T>
void expect_near(const Host& got, const Host& wanted) {
  ASSERT_EQ(got.values.size(), wanted.values.size());
  for (size_t i = 0; i < got.values.size(); ++i)
    EXPECT_LT(std::abs(got.values[i] - wanted.values[i]), tolerance<T>()) << "element " << i;
}

Host identity(int64_t n) {
  Host made(n, n);
  for (int64_t i = 0; i < n; ++i)
    made(i, i) = 1;
  return made;
}

// Far from singular.
template <class T>
Host square(Cublas& test, int64_t n) {
  return test.matrix<T>(n, n) + Complex(8) * identity(n);
}

TYPED_TEST_SUITE(OfType, AllTypes);

TYPED_TEST(OfType, LuInverseAndSolve) {
  using T = TypeParam;
  constexpr int n = 6;
  const Host a[] = {this->template matrix<T>(n, n), square<T>(*this, n)};
  const Device<T> first(a[0]), second(a[1]), inverse_of_first(a[0]), inverse_of_second(a[1]);
  const int ld = static_cast<int>(first.ld());
  const Array<T*> all({first, second}), inverses({inverse_of_first, inverse_of_second});
  const Array<int> pivots(std::vector<int>(n * kCount)), info({9, 9});
  OK(NARROW_FORMS(matinvBatched)(this->handle, n, all, ld, inverses, ld, info, kCount));
  EXPECT_EQ(info.get(), std::vector<int>({0, 0}));
  expect_near<T>(inverse_of_second.get() * a[1], identity(n));
  OK(NARROW_FORMS(getrfBatched)(this->handle, n, all, ld, pivots, info, kCount));
  EXPECT_EQ(info.get(), std::vector<int>({0, 0}));
  const Host lu = first.get();
  Host swapped = a[0];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j)
      std::swap(swapped(i, j), swapped(pivots.get()[static_cast<size_t>(i)] - 1, j));
  expect_near<T>(
      triangle(lu, CUBLAS_FILL_MODE_LOWER, CUBLAS_DIAG_UNIT) * triangle(lu, CUBLAS_FILL_MODE_UPPER), swapped);
  for (int64_t j = 0; j < n; ++j)
    for (int64_t i = j + 1; i < n; ++i)
      EXPECT_LE(std::abs(lu(i, j)), 1.42) << "no pivot was chosen"; // of complex numbers, by |re| + |im|
  OK(NARROW_FORMS(getriBatched)(this->handle, n, all, ld, pivots, inverses, ld, info, kCount));
  expect_near<T>(inverse_of_second.get() * a[1], identity(n));
  int host_info = 9;
  for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    const Host x = this->template matrix<T>(n, 2);
    const Device<T> b(transformed(a[0], op) * x), c(transformed(a[1], op) * x);
    const Array<T*> right({b, c});
    OK(NARROW_FORMS(getrsBatched)(this->handle, op, n, 2, all, ld, pivots, right, static_cast<int>(b.ld()),
                                  &host_info, kCount));
    EXPECT_EQ(host_info, 0);
    expect_near<T>(c.get(), x);
  }
  const Device<T> singular(Host(n, n));
  const Array<T*> of_singular({singular});
  OK(NARROW_FORMS(getrfBatched)(this->handle, n, of_singular, ld, nullptr, info, 1));
  EXPECT_EQ(info.get()[0], 1);
}

TYPED_TEST(OfType, QrAndLeastSquares) {
  using T = TypeParam;
  constexpr int m = 7, n = 4;
  const Host a = this->template matrix<T>(m, n) + [] {
    Host eights(m, n);
    for (int i = 0; i < n; ++i)
      eights(i, i) = 8;
    return eights;
  }();
  const Device<T> on_a(a), taus(Host(n, 1), 0);
  const Array<T*> all({on_a}), all_taus({taus});
  int info = 9;
  OK(NARROW_FORMS(geqrfBatched)(this->handle, m, n, all, static_cast<int>(on_a.ld()), all_taus, &info, 1));
  EXPECT_EQ(info, 0);
  const Host qr = on_a.get(), tau = taus.get();
  Host q = identity(m);
  for (int step = 0; step < n; ++step) { // Q = H1 H2 ..., H = I - tau v v'
    Host v(m, 1);
    v(step, 0) = 1;
    for (int i = step + 1; i < m; ++i)
      v(i, 0) = qr(i, step);
    q = q * (identity(m) + -tau(step, 0) * (v * transformed(v, CUBLAS_OP_C)));
  }
  Host r(m, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i <= j; ++i)
      r(i, j) = qr(i, j);
  expect_near<T>(q * r, a);
  const Host x = this->template matrix<T>(n, 2);
  const Device<T> again(a), right(a * x);
  const Array<T*> all_a({again}), all_right({right});
  const Array<int> device_info({9});
  OK(NARROW_FORMS(gelsBatched)(this->handle, CUBLAS_OP_N, m, n, 2, all_a, static_cast<int>(again.ld()),
                               all_right, static_cast<int>(right.ld()), &info, device_info, 1));
  EXPECT_EQ(device_info.get()[0], 0);
  Host solved(n, 2);
  for (int j = 0; j < 2; ++j)
    for (int i = 0; i < n; ++i)
      solved(i, j) = right.get()(i, j);
  expect_near<T>(solved, x);
}

} // namespace
