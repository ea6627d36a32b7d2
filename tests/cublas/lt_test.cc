// cublasLt: descriptors and their attributes, products in orders, batches and types, epilogues, scales,
// transformations.
#include "fixture.h"

#include "cublas/lt_api.h"
#include "numeric/convert.h"

#include <cmath>

namespace {

using lemma::numeric::FloatFormat;

// A descriptor, destroyed at the end; attributes by what they are given.
class Layout {
public:
  Layout(cudaDataType type, uint64_t rows, uint64_t columns, int64_t ld) {
    OK(cublasLtMatrixLayoutCreate(&layout_, type, rows, columns, ld));
  }
  ~Layout() { OK(cublasLtMatrixLayoutDestroy(layout_)); }
  Layout(const Layout&) = delete;
  template <class A>
  Layout& set(cublasLtMatrixLayoutAttribute_t attribute, A value) {
    OK(cublasLtMatrixLayoutSetAttribute(layout_, attribute, &value, sizeof value));
    return *this;
  }
  operator cublasLtMatrixLayout_t() const { return layout_; }

private:
  cublasLtMatrixLayout_t layout_ = nullptr;
};
class Description {
public:
  Description(cublasComputeType_t compute, cudaDataType scale) {
    OK(cublasLtMatmulDescCreate(&description_, compute, scale));
  }
  ~Description() { OK(cublasLtMatmulDescDestroy(description_)); }
  Description(const Description&) = delete;
  template <class A>
  Description& set(cublasLtMatmulDescAttributes_t attribute, A value) {
    OK(cublasLtMatmulDescSetAttribute(description_, attribute, &value, sizeof value));
    return *this;
  }
  operator cublasLtMatmulDesc_t() const { return description_; }

private:
  cublasLtMatmulDesc_t description_ = nullptr;
};

class Lt : public Cublas {
public:
  void SetUp() override {
    Cublas::SetUp();
    OK(cublasLtCreate(&lt));
  }
  void TearDown() override {
    OK(cublasLtDestroy(lt));
    Cublas::TearDown();
  }
  cublasLtHandle_t lt = nullptr;

  // D = A * B with an epilogue, of f32: A is m x k, B k x n; what `set` says besides.
  static constexpr int64_t kM = 6, kN = 5, kK = 7;
  Host a{matrix<float>(kM, kK)}, b{matrix<float>(kK, kN)};
  template <class Set>
  Host multiplied(Set set) {
    const float one = 1, zero = 0;
    const Device<float> on_a(a), on_b(b), to(Host(kM, kN));
    Description how(CUBLAS_COMPUTE_32F, CUDA_R_32F);
    set(how);
    const Layout of_a(CUDA_R_32F, kM, kK, on_a.ld()), of_b(CUDA_R_32F, kK, kN, on_b.ld()),
        of_d(CUDA_R_32F, kM, kN, to.ld());
    OK(cublasLtMatmul(lt, how, &one, on_a, of_a, on_b, of_b, &zero, to, of_d, to, of_d, nullptr, nullptr, 0,
                      nullptr));
    return to.get();
  }
};

template <class T>
class LtOfType : public Lt {};
TYPED_TEST_SUITE(LtOfType, AllTypes);

TYPED_TEST(LtOfType, Matmul) {
  using T = TypeParam;
  constexpr cudaDataType type = TypeOf<T>::number;
  const cublasComputeType_t compute =
      std::is_same_v<RealOf<T>, float> ? CUBLAS_COMPUTE_32F : CUBLAS_COMPUTE_64F;
  for (const int order : {CUBLASLT_ORDER_COL, CUBLASLT_ORDER_ROW}) {
    const int64_t m = this->between(2, 20), n = this->between(2, 20), k = this->between(1, 40);
    const cublasOperation_t op_a = this->operation(), op_b = this->operation();
    const Host a = op_a == CUBLAS_OP_N ? this->template matrix<T>(m, k) : this->template matrix<T>(k, m);
    const Host b = op_b == CUBLAS_OP_N ? this->template matrix<T>(k, n) : this->template matrix<T>(n, k);
    const Host c = this->template matrix<T>(m, n);
    const Complex alpha = this->template element<T>(), beta = this->template element<T>();
    const T factor = from_complex<T>(alpha), factor_of_c = from_complex<T>(beta);
    const auto stored = [&](const Host& host) {
      return order == CUBLASLT_ORDER_ROW ? transformed(host, CUBLAS_OP_T) : host;
    };
    const Device<T> on_a(stored(a)), on_b(b), on_c(c), on_d(stored(Host(m, n)));
    Description how(compute, type);
    how.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{op_a}).set(CUBLASLT_MATMUL_DESC_TRANSB, int32_t{op_b});
    Layout of_a(type, static_cast<uint64_t>(a.rows), static_cast<uint64_t>(a.columns), on_a.ld()),
        of_d(type, static_cast<uint64_t>(m), static_cast<uint64_t>(n), on_d.ld());
    const Layout of_b(type, static_cast<uint64_t>(b.rows), static_cast<uint64_t>(b.columns), on_b.ld()),
        of_c(type, static_cast<uint64_t>(m), static_cast<uint64_t>(n), on_c.ld());
    of_a.set(CUBLASLT_MATRIX_LAYOUT_ORDER, order), of_d.set(CUBLASLT_MATRIX_LAYOUT_ORDER, order);
    OK(cublasLtMatmul(this->lt, how, &factor, on_a, of_a, on_b, of_b, &factor_of_c, on_c, of_c, on_d, of_d,
                      nullptr, nullptr, 0, nullptr));
    const Host wanted = alpha * (transformed(a, op_a) * transformed(b, op_b)) + beta * c;
    EXPECT_EQ(on_d.get().values, stored(wanted).values);
  }
}

TEST_F(Lt, Batches) {
  const float one = 1, zero = 0;
  const Host all_a = matrix<float>(3, 2 * 4), b = matrix<float>(4, 5);
  const Device<float> on_a(all_a), on_b(b), to(Host(3, 2 * 5));
  Layout of_a(CUDA_R_32F, 3, 4, on_a.ld()), of_b(CUDA_R_32F, 4, 5, on_b.ld()),
      of_d(CUDA_R_32F, 3, 5, to.ld());
  of_a.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 2)
      .set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, on_a.ld() * 4);
  of_b.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 2)
      .set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, int64_t{0});
  of_d.set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 2)
      .set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, to.ld() * 5);
  const Description how(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  OK(cublasLtMatmul(lt, how, &one, on_a, of_a, on_b, of_b, &zero, to, of_d, to, of_d, nullptr, nullptr, 0,
                    nullptr));
  const Host got = to.get();
  for (int64_t batch = 0; batch < 2; ++batch) {
    Host a(3, 4);
    std::copy_n(all_a.values.begin() + batch * 12, 12, a.values.begin());
    const Host wanted = a * b;
    EXPECT_TRUE(std::equal(wanted.values.begin(), wanted.values.end(), got.values.begin() + batch * 15));
  }
}

// Alpha and beta on the device: one, or one for each row.
TEST_F(Lt, FactorsOnTheDevice) {
  const Array<float> factors({1, 2, 3, 4, 5, 6});
  const Device<float> on_a(a), on_b(b);
  const Host c = matrix<float>(kM, kN), product = a * b;
  for (const int mode : {1, 2, 3, 4}) {
    const Device<float> to(c);
    Description how(CUBLAS_COMPUTE_32F, CUDA_R_32F);
    how.set(CUBLASLT_MATMUL_DESC_POINTER_MODE, mode);
    const Layout of_a(CUDA_R_32F, kM, kK, on_a.ld()), of_b(CUDA_R_32F, kK, kN, on_b.ld()),
        of_d(CUDA_R_32F, kM, kN, to.ld());
    const float two = 2;
    const void* beta = mode == CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST
                           ? &two
                           : static_cast<const float*>(factors);
    OK(cublasLtMatmul(lt, how, factors, on_a, of_a, on_b, of_b, beta, to, of_d, to, of_d, nullptr, nullptr, 0,
                      nullptr));
    const Host got = to.get();
    for (int64_t j = 0; j < kN; ++j)
      for (int64_t i = 0; i < kM; ++i) {
        const double row = static_cast<double>(i + 1), alpha = mode == 1 ? 1 : row;
        const double of_c = mode == 1 ? 1 : mode == 2 ? row : mode == 3 ? 0 : 2;
        EXPECT_EQ(got(i, j), alpha * product(i, j) + of_c * c(i, j)) << mode;
      }
  }
}

TEST_F(Lt, BiasAndRelu) {
  const Array<float> bias({1, -2, 3, -4, 5, -6});
  Host biased = a * b;
  for (int64_t j = 0; j < kN; ++j)
    for (int64_t i = 0; i < kM; ++i)
      biased(i, j) += bias.get()[static_cast<size_t>(i)];
  const auto with_bias = [&](Description& how, unsigned epilogue) {
    how.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue).set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias.at());
  };
  EXPECT_EQ(multiplied([&](Description& how) { with_bias(how, CUBLASLT_EPILOGUE_BIAS); }).values,
            biased.values);
  Host positive = biased;
  for (Complex& value : positive.values)
    value = std::max(value.real(), 0.0);
  EXPECT_EQ(multiplied([&](Description& how) { with_bias(how, CUBLASLT_EPILOGUE_RELU_BIAS); }).values,
            positive.values);
  // The mask: a bit for each element, and the gradient that it lets through, with its sums.
  const Array<uint8_t> mask(std::vector<uint8_t>(16 * kN));
  const auto aux = [&](Description& how) {
    how.set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(mask.at()))
        .set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{128});
  };
  EXPECT_EQ(multiplied([&](Description& how) {
              with_bias(how, CUBLASLT_EPILOGUE_RELU_AUX_BIAS);
              aux(how);
            }).values,
            positive.values);
  for (int64_t j = 0; j < kN; ++j)
    for (int64_t i = 0; i < kM; ++i)
      EXPECT_EQ(mask.get()[static_cast<size_t>(16 * j)] >> i & 1, biased(i, j).real() > 0);
  const Array<float> sums(std::vector<float>(kM, 9));
  const Host gradient = multiplied([&](Description& how) {
    aux(how);
    how.set(CUBLASLT_MATMUL_DESC_EPILOGUE, unsigned{CUBLASLT_EPILOGUE_DRELU_BGRAD})
        .set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, sums.at());
  });
  const Host product = a * b;
  for (int64_t i = 0; i < kM; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < kN; ++j) {
      const double wanted = biased(i, j).real() > 0 ? product(i, j).real() : 0;
      EXPECT_EQ(gradient(i, j), wanted);
      sum += wanted;
    }
    EXPECT_EQ(sums.get()[static_cast<size_t>(i)], sum);
  }
}

// Of f64: near what the formula gives, and the gradient near the difference quotient.
TEST_F(Lt, Gelu) {
  const auto gelu = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  };
  a = Complex(0.125) * a;
  const Host product = a * b;
  const Array<float> inputs(std::vector<float>(8 * kN));
  const auto aux = [&](Description& how, unsigned epilogue) {
    how.set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue)
        .set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, static_cast<void*>(inputs.at()))
        .set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, int64_t{8});
  };
  const Host got = multiplied([&](Description& how) { aux(how, CUBLASLT_EPILOGUE_GELU_AUX); });
  const Host gradient = multiplied([&](Description& how) { aux(how, CUBLASLT_EPILOGUE_DGELU); });
  for (int64_t j = 0; j < kN; ++j)
    for (int64_t i = 0; i < kM; ++i) {
      const double x = product(i, j).real(), slope = (gelu(x + 1e-6) - gelu(x - 1e-6)) / 2e-6;
      EXPECT_EQ(got(i, j), static_cast<double>(static_cast<float>(gelu(x))));
      EXPECT_EQ(inputs.get()[static_cast<size_t>(8 * j + i)], x);
      EXPECT_NEAR(gradient(i, j).real(), slope * x, 1e-5 * (1 + std::abs(x)));
    }
}

TEST_F(Lt, BiasGradients) {
  const Array<float> of_a(std::vector<float>(kM, 0)), of_b(std::vector<float>(kN, 0));
  EXPECT_EQ(multiplied([&](Description& how) {
              how.set(CUBLASLT_MATMUL_DESC_EPILOGUE, unsigned{CUBLASLT_EPILOGUE_BGRADA})
                  .set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of_a.at());
            }).values,
            (a * b).values);
  (void)multiplied([&](Description& how) {
    how.set(CUBLASLT_MATMUL_DESC_EPILOGUE, unsigned{CUBLASLT_EPILOGUE_BGRADB})
        .set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, of_b.at());
  });
  for (int64_t i = 0; i < kM; ++i) {
    Complex sum = 0;
    for (int64_t p = 0; p < kK; ++p)
      sum += a(i, p);
    EXPECT_EQ(of_a.get()[static_cast<size_t>(i)], sum.real());
  }
  for (int64_t j = 0; j < kN; ++j) {
    Complex sum = 0;
    for (int64_t p = 0; p < kK; ++p)
      sum += b(p, j);
    EXPECT_EQ(of_b.get()[static_cast<size_t>(j)], sum.real());
  }
}

uint8_t e4m3(double value) {
  return static_cast<uint8_t>(
      lemma::numeric::convert_float(FloatFormat::e4m3, FloatFormat::f64, std::bit_cast<uint64_t>(value)));
}

// A row of fp8 times a column of it, with scales, a bf16 bias, and an fp8 result that saturates.
TEST_F(Lt, Fp8) {
  const Array<uint8_t> x({e4m3(2), e4m3(3), e4m3(-1), e4m3(4)}), to({0, 0, 0, 0});
  const Array<float> two({2}), half({0.5F}), rows({1, 10}), amax({0});
  const Array<uint16_t> bias({0x3f80, 0x4000}); // 1, 2
  const float one = 1, zero = 0;
  const Layout of_x(CUDA_R_8F_E4M3, 2, 2, 2), of_d(CUDA_R_8F_E4M3, 2, 2, 2), of_c(CUDA_R_16BF, 2, 2, 2);
  Description how(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  how.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T})
      .set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, two.at())
      .set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, half.at())
      .set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, half.at())
      .set(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, static_cast<void*>(amax.at()))
      .set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1})
      .set(CUBLASLT_MATMUL_DESC_EPILOGUE, unsigned{CUBLASLT_EPILOGUE_BIAS})
      .set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<void*>(bias.at()))
      .set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, int32_t{CUDA_R_16BF});
  OK(cublasLtMatmul(lt, how, &one, x, of_x, x, of_x, &zero, to, of_c, to, of_d, nullptr, nullptr, 0,
                    nullptr));
  // A' * A of (2, 3; -1, 4): 13, 10; 10, 17; plus 1 and 2 by row, halved.
  EXPECT_EQ(to.get(), std::vector<uint8_t>({e4m3(7), e4m3(6), e4m3(5.5), e4m3(9.5)}));
  EXPECT_EQ(amax.get()[0], 19);
  // A scale a row of D, and a sum that e4m3 does not reach.
  const Array<float> wide({0, 0, 0, 0}), large({1000});
  const Layout of_wide(CUDA_R_32F, 2, 2, 2);
  Description by_row(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  by_row.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T})
      .set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, rows.at())
      .set(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, int32_t{CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F});
  OK(cublasLtMatmul(lt, by_row, &one, x, of_x, x, of_x, &zero, wide, of_wide, wide, of_wide, nullptr, nullptr,
                    0, nullptr));
  EXPECT_EQ(wide.get(), std::vector<float>({13, 100, 10, 170}));
  Description huge(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  huge.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T})
      .set(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, large.at());
  OK(cublasLtMatmul(lt, huge, &one, x, of_x, x, of_x, &zero, to, of_c, to, of_d, nullptr, nullptr, 0,
                    nullptr));
  EXPECT_EQ(to.get()[0], 0x7e); // 448
}

TEST_F(Lt, Integers) {
  const Array<int8_t> x({2, 3, -1, 4}), narrow({0, 0, 0, 0});
  const Array<int32_t> to({0, 0, 0, 0});
  const Layout of_x(CUDA_R_8I, 2, 2, 2), of_d(CUDA_R_32I, 2, 2, 2), of_narrow(CUDA_R_8I, 2, 2, 2);
  Description exact(CUBLAS_COMPUTE_32I, CUDA_R_32I), scaled(CUBLAS_COMPUTE_32I, CUDA_R_32F);
  exact.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
  scaled.set(CUBLASLT_MATMUL_DESC_TRANSA, int32_t{CUBLAS_OP_T});
  const int32_t one = 1, zero = 0;
  OK(cublasLtMatmul(lt, exact, &one, x, of_x, x, of_x, &zero, to, of_d, to, of_d, nullptr, nullptr, 0,
                    nullptr));
  EXPECT_EQ(to.get(), std::vector<int32_t>({13, 10, 10, 17}));
  const float ten = 10.25F, none = 0;
  OK(cublasLtMatmul(lt, scaled, &ten, x, of_x, x, of_x, &none, narrow, of_narrow, narrow, of_narrow, nullptr,
                    nullptr, 0, nullptr));
  EXPECT_EQ(narrow.get(), std::vector<int8_t>({127, 102, 102, 127})); // 133.25 and 102.5
}

TEST_F(Lt, Transform) {
  const Host x = matrix<float>(3, 4), y = matrix<float>(4, 3);
  const Device<float> on_x(x), on_y(y), to(transformed(x, CUBLAS_OP_T));
  const float two = 2, minus = -1;
  const Layout of_x(CUDA_R_32F, 3, 4, on_x.ld()), of_y(CUDA_R_32F, 4, 3, on_y.ld());
  Layout of_to(CUDA_R_32F, 3, 4, to.ld());
  of_to.set(CUBLASLT_MATRIX_LAYOUT_ORDER, int32_t{CUBLASLT_ORDER_ROW});
  cublasLtMatrixTransformDesc_t how = nullptr;
  OK(cublasLtMatrixTransformDescCreate(&how, CUDA_R_32F));
  const int32_t op = CUBLAS_OP_T;
  int32_t got = -1;
  size_t written = 0;
  OK(cublasLtMatrixTransformDescSetAttribute(how, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, &op, sizeof op));
  OK(cublasLtMatrixTransformDescGetAttribute(how, CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, &got, sizeof got,
                                             &written));
  EXPECT_EQ(got, op);
  OK(cublasLtMatrixTransform(lt, how, &two, on_x, of_x, &minus, on_y, of_y, to, of_to, nullptr));
  EXPECT_EQ(transformed(to.get(), CUBLAS_OP_T).values,
            (Complex(2) * x + Complex(-1) * transformed(y, CUBLAS_OP_T)).values);
  OK(cublasLtMatrixTransformDescDestroy(how));
  cublasLtMatrixTransformDescOpaque_t own;
  OK(cublasLtMatrixTransformDescInit_internal(&own, sizeof own, CUDA_R_32F));
  OK(cublasLtMatrixTransform(lt, &own, &two, on_x, of_x, nullptr, nullptr, nullptr, to, of_to, nullptr));
  EXPECT_EQ(transformed(to.get(), CUBLAS_OP_T).values, (Complex(2) * x).values);
}

// Sizes are checked, and asked for with none.
TEST_F(Lt, Attributes) {
  cublasLtMatrixLayoutOpaque_t layout;
  OK(cublasLtMatrixLayoutInit_internal(&layout, sizeof layout, CUDA_R_16F, 3, 4, 5));
  uint64_t rows = 0;
  size_t written = 0;
  OK(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, sizeof rows, &written));
  EXPECT_EQ(rows, 3U);
  EXPECT_EQ(written, sizeof rows);
  OK(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_TYPE, nullptr, 0, &written));
  EXPECT_EQ(written, 4U);
  const auto wrong = CUBLAS_STATUS_INVALID_VALUE;
  EXPECT_EQ(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, 4, &written),
            wrong);
  EXPECT_EQ(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, nullptr, 8, &written),
            wrong);
  EXPECT_EQ(cublasLtMatrixLayoutGetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, nullptr, 0, nullptr),
            wrong);
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(&layout, CUBLASLT_MATRIX_LAYOUT_ROWS, nullptr, 8), wrong);
  EXPECT_EQ(
      cublasLtMatrixLayoutSetAttribute(&layout, static_cast<cublasLtMatrixLayoutAttribute_t>(99), &rows, 8),
      wrong);
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(nullptr, CUBLASLT_MATRIX_LAYOUT_ROWS, &rows, 8), wrong);
  EXPECT_EQ(cublasLtMatrixLayoutInit_internal(&layout, 8, CUDA_R_16F, 3, 4, 5), wrong);
  cublasLtMatmulDescOpaque_t how;
  OK(cublasLtMatmulDescInit_internal(&how, sizeof how, CUBLAS_COMPUTE_64F, CUDA_R_64F));
  int32_t compute = 0;
  OK(cublasLtMatmulDescGetAttribute(&how, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, &compute, sizeof compute,
                                    &written));
  EXPECT_EQ(compute, CUBLAS_COMPUTE_64F);
  cublasLtMatmulPreferenceOpaque_t preference;
  OK(cublasLtMatmulPreferenceInit_internal(&preference, sizeof preference));
  uint32_t mode = 7;
  OK(cublasLtMatmulPreferenceGetAttribute(&preference, CUBLASLT_MATMUL_PREF_SEARCH_MODE, &mode, sizeof mode,
                                          &written));
  EXPECT_EQ(mode, 0U);
}

TEST_F(Lt, Algorithms) {
  cublasLtMatmulPreference_t preference = nullptr;
  OK(cublasLtMatmulPreferenceCreate(&preference));
  const uint64_t bytes = 1 << 20;
  OK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                          sizeof bytes));
  const Description how(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  const Layout x(CUDA_R_16F, 8, 8, 8), d(CUDA_R_64F, 8, 8, 8), other(CUDA_R_16F, 8, 4, 8);
  cublasLtMatmulHeuristicResult_t results[3];
  int count = -1;
  const auto search = [&](cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t to) {
    return cublasLtMatmulAlgoGetHeuristic(lt, how, x, b, to, to, preference, 3, results, &count);
  };
  OK(search(x, x));
  EXPECT_EQ(count, 1);
  EXPECT_EQ(results[0].state, CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(results[0].workspaceSize, 0U);
  EXPECT_EQ(search(x, d), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(search(other, x), CUBLAS_STATUS_INVALID_VALUE);
  OK(cublasLtMatmulPreferenceDestroy(preference));
  int ids[2] = {-1, -1};
  cublasLtMatmulAlgo_t algorithm;
  OK(cublasLtMatmulAlgoGetIds(lt, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F,
                              CUDA_R_16F, 2, ids, &count));
  OK(cublasLtMatmulAlgoInit(lt, CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F,
                            CUDA_R_16F, ids[0], &algorithm));
  const uint32_t tile = 20;
  uint32_t got = 0;
  OK(cublasLtMatmulAlgoConfigSetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, &tile, sizeof tile));
  OK(cublasLtMatmulAlgoConfigGetAttribute(&algorithm, CUBLASLT_ALGO_CONFIG_TILE_ID, &got, sizeof got,
                                          nullptr));
  EXPECT_EQ(got, tile);
  OK(cublasLtMatmulAlgoCheck(lt, how, x, x, x, x, &algorithm, results));
  size_t capacity = 1;
  OK(cublasLtHeuristicsCacheGetCapacity(&capacity));
  OK(cublasLtHeuristicsCacheSetCapacity(capacity));
}

TEST_F(Lt, VersionsAndLogs) {
  EXPECT_EQ(cublasLtGetVersion(), 130100U);
  EXPECT_EQ(cublasLtGetCudartVersion(), 13000U);
  int major = 0;
  OK(cublasLtGetProperty(MAJOR_VERSION, &major));
  EXPECT_EQ(major, 13);
  EXPECT_STREQ(cublasLtGetStatusName(CUBLAS_STATUS_INVALID_VALUE), "CUBLAS_STATUS_INVALID_VALUE");
  EXPECT_STREQ(cublasLtGetStatusString(CUBLAS_STATUS_SUCCESS), "success");
  OK(cublasLtLoggerSetCallback(nullptr));
  OK(cublasLtLoggerSetFile(stderr));
  OK(cublasLtLoggerOpenFile("none"));
  OK(cublasLtLoggerSetLevel(5));
  OK(cublasLtLoggerSetMask(31));
  OK(cublasLtLoggerForceDisable());
  EXPECT_EQ(cublasLtBIIMatmul(), CUBLAS_STATUS_NOT_SUPPORTED);
  // A handle of cuBLAS's serves, too.
  const float one = 1;
  const Array<float> x({3});
  const Layout of_x(CUDA_R_32F, 1, 1, 1);
  const Description how(CUBLAS_COMPUTE_32F, CUDA_R_32F);
  OK(cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle), how, &one, x, of_x, x, of_x, &one, x, of_x, x,
                    of_x, nullptr, nullptr, 0, nullptr));
  EXPECT_EQ(x.get()[0], 12);
}

} // namespace
