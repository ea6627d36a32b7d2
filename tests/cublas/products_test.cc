// gemm in all its forms, against plain loops: types, operations, gaps, batches; and what the narrow types
// become.
#include "fixture.h"

#include "numeric/convert.h"

#include <algorithm>

namespace {

TYPED_TEST_SUITE(OfType, AllTypes);

TYPED_TEST(OfType, Gemm) {
  using T = TypeParam;
  for (int turn = 0; turn < 4; ++turn)
    both(FORMS(gemm_v2), [&](auto f) {
      const int64_t m = this->between(1, 40), n = this->between(1, 40),
                    k = turn == 0 ? 0 : this->between(1, 300);
      const cublasOperation_t op_a = this->operation(), op_b = this->operation();
      const Host a = op_a == CUBLAS_OP_N ? this->template matrix<T>(m, k) : this->template matrix<T>(k, m);
      const Host b = op_b == CUBLAS_OP_N ? this->template matrix<T>(k, n) : this->template matrix<T>(n, k);
      const Host c = this->template matrix<T>(m, n);
      const Complex alpha = this->template element<T>(), beta = turn == 1 ? 0 : this->template element<T>();
      const T of_product = from_complex<T>(alpha), of_c = from_complex<T>(beta);
      const Device<T> on_a(a), on_b(b), on_c(c);
      OK(f(this->handle, op_a, op_b, m, n, k, &of_product, on_a, on_a.ld(), on_b, on_b.ld(), &of_c, on_c,
           on_c.ld()));
      const Host wanted = alpha * (transformed(a, op_a) * transformed(b, op_b)) + beta * c;
      EXPECT_EQ(on_c.get().values, wanted.values);
    });
}

} // namespace
