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

// Pointers to matrices that lie `stride` elements apart.
template <class T>
Array<T*> pointers_to(T* first, int64_t stride, int64_t count) {
  std::vector<T*> all;
  for (int64_t i = 0; i < count; ++i)
    all.push_back(first + i * stride);
  return Array<T*>(all);
}

// Three products of m x k and k x n matrices, which stand side by side in one.
struct Batched {
  static constexpr int64_t kCount = 3, kM = 5, kN = 4, kK = 6;
  Host a, b, c;
  Complex alpha, beta;

  Host wanted() const {
    Host all(kM, kN * kCount);
    for (int64_t i = 0; i < kCount; ++i) {
      const Host each = alpha * (part(a, i, kK) * part(b, i, kN)) + beta * part(c, i, kN);
      std::copy(each.values.begin(), each.values.end(), all.values.begin() + i * kM * kN);
    }
    return all;
  }
  static Host part(const Host& of, int64_t i, int64_t columns) {
    Host to(of.rows, columns);
    std::copy_n(of.values.begin() + i * of.rows * columns, of.rows * columns, to.values.begin());
    return to;
  }
};

template <class T>
Batched draw_batch(OfType<T>& test) {
  return {test.template matrix<T>(Batched::kM, Batched::kK * Batched::kCount),
          test.template matrix<T>(Batched::kK, Batched::kN * Batched::kCount),
          test.template matrix<T>(Batched::kM, Batched::kN * Batched::kCount), test.template element<T>(),
          test.template element<T>()};
}

TYPED_TEST(OfType, GemmBatches) {
  using T = TypeParam;
  constexpr int64_t kCount = Batched::kCount, kM = Batched::kM, kN = Batched::kN, kK = Batched::kK;
  const Batched all = draw_batch<T>(*this);
  const T alpha = from_complex<T>(all.alpha), beta = from_complex<T>(all.beta);
  const Device<T> a(all.a), b(all.b);
  const int64_t stride_a = a.ld() * kK, stride_b = b.ld() * kN;
  both(FORMS(gemmStridedBatched), [&](auto f) {
    const Device<T> c(all.c);
    OK(f(this->handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &alpha, a, a.ld(), stride_a, b, b.ld(), stride_b,
         &beta, c, c.ld(), c.ld() * kN, kCount));
    EXPECT_EQ(c.get().values, all.wanted().values);
  });
  const auto all_a = pointers_to<T>(a, stride_a, kCount), all_b = pointers_to<T>(b, stride_b, kCount);
  both(FORMS(gemmBatched), [&](auto f) {
    const Device<T> c(all.c);
    const auto all_c = pointers_to<T>(c, c.ld() * kN, kCount);
    OK(f(this->handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, &alpha, all_a, a.ld(), all_b, b.ld(), &beta,
         all_c, c.ld(), kCount));
    EXPECT_EQ(c.get().values, all.wanted().values);
  });
}

TYPED_TEST(OfType, GemvBatches) {
  using T = TypeParam;
  constexpr int64_t kCount = 3, kM = 5, kN = 4;
  const Host a = this->template matrix<T>(kM, kN * kCount);
  for (const cublasOperation_t op : {CUBLAS_OP_N, CUBLAS_OP_T, CUBLAS_OP_C}) {
    const int64_t from = op == CUBLAS_OP_N ? kN : kM, to = op == CUBLAS_OP_N ? kM : kN;
    const auto x = this->template vector<T>(from * kCount), y = this->template vector<T>(to * kCount);
    const T alpha = from_complex<T>(this->template element<T>()),
            beta = from_complex<T>(this->template element<T>());
    std::vector<Complex> wanted;
    for (int64_t i = 0; i < kCount; ++i) {
      Host vector(from, 1), before(to, 1);
      std::copy_n(x.begin() + i * from, from, vector.values.begin());
      std::copy_n(y.begin() + i * to, to, before.values.begin());
      const Host each =
          to_complex(alpha) * (transformed(Batched::part(a, i, kN), op) * vector) + to_complex(beta) * before;
      wanted.insert(wanted.end(), each.values.begin(), each.values.end());
    }
    const Device<T> on_a(a);
    const Spaced<T> on_x(x, 2);
    both(FORMS(gemvStridedBatched), [&](auto f) {
      const Spaced<T> on_y(y, 3);
      OK(f(this->handle, op, kM, kN, &alpha, on_a, on_a.ld(), on_a.ld() * kN, on_x, 2, 2 * from, &beta, on_y,
           3, 3 * to, kCount));
      EXPECT_EQ(on_y.get(), wanted);
    });
    both(FORMS(gemvBatched), [&](auto f) {
      const Spaced<T> on_y(y, 3);
      const auto all_a = pointers_to<T>(on_a, on_a.ld() * kN, kCount),
                 all_x = pointers_to<T>(on_x, 2 * from, kCount), all_y = pointers_to<T>(on_y, 3 * to, kCount);
      OK(f(this->handle, op, kM, kN, &alpha, all_a, on_a.ld(), all_x, 2, &beta, all_y, 3, kCount));
      EXPECT_EQ(on_y.get(), wanted);
    });
  }
}

TYPED_TEST_SUITE(OfComplex, ComplexTypes);

TYPED_TEST(OfComplex, Gemm3m) {
  using T = TypeParam;
  both(COMPLEX_FORMS(gemm3m), [&](auto f) {
    const Host a = this->template matrix<T>(4, 7), b = this->template matrix<T>(7, 5),
               c = this->template matrix<T>(4, 5);
    const T alpha = {1, 2}, beta = {0, 1};
    const Device<T> on_a(a), on_b(b), on_c(c);
    OK(f(this->handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 5, 7, &alpha, on_a, on_a.ld(), on_b, on_b.ld(), &beta,
         on_c, on_c.ld()));
    EXPECT_EQ(on_c.get().values, (Complex(1, 2) * (a * b) + Complex(0, 1) * c).values);
  });
}

// --- other types

using Format = lemma::numeric::FloatFormat;

// What a type's bits mean, and its bits for a number that it has.
struct Element {
  cudaDataType type;
  size_t bytes;
  Format format; // of floating-point types
};
constexpr Element kF16{CUDA_R_16F, 2, Format::f16}, kBf16{CUDA_R_16BF, 2, Format::bf16},
    kF32{CUDA_R_32F, 4, Format::f32}, kF64{CUDA_R_64F, 8, Format::f64}, kS8{CUDA_R_8I, 1, {}},
    kS32{CUDA_R_32I, 4, {}};

bool is_integer(const Element& element) {
  return element.type == CUDA_R_8I || element.type == CUDA_R_32I;
}
std::vector<std::byte> bits_of(const Element& element, const std::vector<Complex>& values) {
  std::vector<std::byte> bytes(values.size() * element.bytes);
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i].real();
    const uint64_t bits = is_integer(element) ? static_cast<uint64_t>(static_cast<int64_t>(value))
                                              : lemma::numeric::convert_float(element.format, Format::f64,
                                                                              std::bit_cast<uint64_t>(value));
    std::memcpy(bytes.data() + i * element.bytes, &bits, element.bytes);
  }
  return bytes;
}

struct Combination {
  Element ab, c;
  cublasComputeType_t compute;
  Element scale;
};

class Types : public Cublas {
protected:
  static constexpr int64_t kM = 6, kN = 5, kK = 9;
  std::vector<Complex> whole(int64_t count) {
    std::vector<Complex> values(static_cast<size_t>(count));
    for (Complex& value : values)
      value = static_cast<double>(between(-5, 5));
    return values;
  }
};

// A reads as A of the first product, and so on: two products in a batch.
TEST_F(Types, GemmExInAllTypes) {
  const Combination all[] = {{kF16, kF16, CUBLAS_COMPUTE_16F, kF16},
                             {kF16, kF16, CUBLAS_COMPUTE_32F, kF32},
                             {kBf16, kBf16, CUBLAS_COMPUTE_32F, kF32},
                             {kF16, kF32, CUBLAS_COMPUTE_32F, kF32},
                             {kBf16, kF32, CUBLAS_COMPUTE_32F_PEDANTIC, kF32},
                             {kS8, kF32, CUBLAS_COMPUTE_32F, kF32},
                             {kS8, kS32, CUBLAS_COMPUTE_32I, kS32},
                             {kF32, kF32, CUBLAS_COMPUTE_32F, kF32},
                             {kF32, kF32, CUBLAS_COMPUTE_32F_FAST_TF32, kF32},
                             {kF32, kF32, CUBLAS_COMPUTE_32F_FAST_16BF, kF32},
                             {kF64, kF64, CUBLAS_COMPUTE_64F, kF64}};
  for (const auto& [ab, c, compute, scale] : all) {
    SCOPED_TRACE(testing::Message() << ab.type << " to " << c.type << " by " << compute);
    Batched batch{Host(kM, 2 * kK), Host(kK, 2 * kN), Host(kM, 2 * kN), 2, -1};
    batch.a.values = whole(kM * 2 * kK), batch.b.values = whole(kK * 2 * kN),
    batch.c.values = whole(kM * 2 * kN);
    Host wanted(kM, 2 * kN);
    for (int64_t i = 0; i < 2; ++i) {
      const Host each = Complex(2) * (Batched::part(batch.a, i, kK) * Batched::part(batch.b, i, kN)) +
                        Complex(-1) * Batched::part(batch.c, i, kN);
      std::copy(each.values.begin(), each.values.end(), wanted.values.begin() + i * kM * kN);
    }
    const auto wanted_bits = bits_of(c, wanted.values), alpha = bits_of(scale, {2}),
               beta = bits_of(scale, {-1});
    const Array<std::byte> a(bits_of(ab, batch.a.values)), b(bits_of(ab, batch.b.values));
    const auto check = [&](auto call) {
      const Array<std::byte> to(bits_of(c, batch.c.values));
      call(to);
      EXPECT_EQ(to.get(), wanted_bits);
    };
    both(WIDTHS(cublasGemmStridedBatchedEx), [&](auto f) {
      check([&](const Array<std::byte>& to) {
        OK(f(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, alpha.data(), a, ab.type, kM, kM * kK, b, ab.type,
             kK, kK * kN, beta.data(), to, c.type, kM, kM * kN, 2, compute, CUBLAS_GEMM_DEFAULT));
      });
    });
    both(WIDTHS(cublasGemmEx), [&](auto f) {
      check([&](const Array<std::byte>& to) {
        for (size_t i = 0; i < 2; ++i)
          OK(f(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, alpha.data(), a.at(i * kM * kK * ab.bytes),
               ab.type, kM, b.at(i * kK * kN * ab.bytes), ab.type, kK, beta.data(),
               to.at(i * kM * kN * c.bytes), c.type, kM, compute, CUBLAS_GEMM_DEFAULT_TENSOR_OP));
      });
    });
    both(WIDTHS(cublasGemmBatchedEx), [&](auto f) {
      check([&](const Array<std::byte>& to) {
        const Array<void*> all_a({a.at(), a.at(kM * kK * ab.bytes)}),
            all_b({b.at(), b.at(kK * kN * ab.bytes)}), all_to({to.at(), to.at(kM * kN * c.bytes)});
        OK(f(handle, CUBLAS_OP_N, CUBLAS_OP_N, kM, kN, kK, alpha.data(), all_a, ab.type, kM, all_b, ab.type,
             kK, beta.data(), all_to, c.type, kM, 2, compute, CUBLAS_GEMM_DEFAULT));
      });
    });
  }
}

TEST_F(Types, Hgemm) {
  const Array<__half> a(std::vector<__half>{{0x4000}}), b(std::vector<__half>{{0x4200}}),
      c(std::vector<__half>{{0x3c00}}); // 2, 3, 1
  const __half one{0x3c00};
  const Array<__half*> all_a({a.at()}), all_b({b.at()}), all_c({c.at()});
  const auto n = CUBLAS_OP_N;
  both(WIDTHS(cublasHgemm), [&](auto f) { OK(f(handle, n, n, 1, 1, 1, &one, a, 1, b, 1, &one, c, 1)); });
  both(WIDTHS(cublasHgemmBatched),
       [&](auto f) { OK(f(handle, n, n, 1, 1, 1, &one, all_a, 1, all_b, 1, &one, all_c, 1, 1)); });
  both(WIDTHS(cublasHgemmStridedBatched),
       [&](auto f) { OK(f(handle, n, n, 1, 1, 1, &one, a, 1, 1, b, 1, 1, &one, c, 1, 1, 1)); });
  EXPECT_EQ(c.get()[0].bits, 0x50a0); // 37
}

TEST_F(Types, GemmOfTypes) {
  const float one = 1, zero = 0;
  const Array<float> c({5});
  const Array<uint16_t> a({0x3f80}), b({0x4040}); // bf16: 1, 3
  both(WIDTHS(cublasSgemmEx), [&](auto f) {
    OK(f(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, CUDA_R_16BF, 1, b, CUDA_R_16BF, 1, &one, c,
         CUDA_R_32F, 1));
  });
  EXPECT_EQ(c.get()[0], 11);
  const cuComplex unit{1, 0}, none{0, 0};
  const Array<cuComplex> i({{0, 1}}), to({{9, 9}});
  const auto n = CUBLAS_OP_N;
  both(WIDTHS(cublasCgemmEx), [&](auto f) {
    OK(f(handle, n, n, 1, 1, 1, &unit, i, CUDA_C_32F, 1, i, CUDA_C_32F, 1, &none, to, CUDA_C_32F, 1));
  });
  both(WIDTHS(cublasCgemm3mEx), [&](auto f) {
    OK(f(handle, n, n, 1, 1, 1, &unit, i, CUDA_C_32F, 1, i, CUDA_C_32F, 1, &unit, to, CUDA_C_32F, 1));
  });
  EXPECT_EQ(to.get()[0].x, -3);
  const Array<cuComplex*> all_i({i.at()}), all_to({to.at()});
  both(WIDTHS(cublasCgemm3mBatched),
       [&](auto f) { OK(f(handle, n, n, 1, 1, 1, &unit, all_i, 1, all_i, 1, &unit, all_to, 1, 1)); });
  both(WIDTHS(cublasCgemm3mStridedBatched),
       [&](auto f) { OK(f(handle, n, n, 1, 1, 1, &unit, i, 1, 1, i, 1, 1, &unit, to, 1, 1, 1)); });
  EXPECT_EQ(to.get()[0].x, -7);
  EXPECT_EQ(zero, 0);
}

TEST_F(Types, GemvBatchesOfNarrowTypes) {
  const Array<__half> halves(std::vector<__half>(4, {0x3c00})), half_to(std::vector<__half>(2, {0}));
  const Array<__nv_bfloat16> bfloats(std::vector<__nv_bfloat16>(4, {0x3f80})),
      bfloat_to(std::vector<__nv_bfloat16>(2, {0}));
  const Array<float> to({0, 0});
  const float two = 2, zero = 0;
  const auto n = CUBLAS_OP_N;
  const auto run = [&](auto strided, auto batched, const auto& from, const auto& into) {
    using T = std::remove_pointer_t<decltype(from.at())>;
    using R = std::remove_pointer_t<decltype(into.at())>;
    both(strided,
         [&](auto f) { OK(f(handle, n, 2, 2, &two, from, 2, 4, from, 1, 2, &zero, into, 1, 2, 1)); });
    const Array<T*> all({from.at()});
    const Array<R*> all_into({into.at()});
    both(batched, [&](auto f) { OK(f(handle, n, 2, 2, &two, all, 2, all, 1, &zero, all_into, 1, 1)); });
  };
  run(WIDTHS(cublasHSHgemvStridedBatched), WIDTHS(cublasHSHgemvBatched), halves, half_to);
  EXPECT_EQ(half_to.get()[1].bits, 0x4400);
  run(WIDTHS(cublasHSSgemvStridedBatched), WIDTHS(cublasHSSgemvBatched), halves, to);
  run(WIDTHS(cublasTSSgemvStridedBatched), WIDTHS(cublasTSSgemvBatched), bfloats, to);
  EXPECT_EQ(to.get()[1], 4);
  run(WIDTHS(cublasTSTgemvStridedBatched), WIDTHS(cublasTSTgemvBatched), bfloats, bfloat_to);
  EXPECT_EQ(bfloat_to.get()[1].bits, 0x4080);
}

// A sum that f32 would lose is rounded once; TF32 drops what tensor cores drop; int32 wraps.
TEST_F(Types, Rounding) {
  const float one = 1, zero = 0;
  const Array<float> a({0x1p24F, 1, 1}), ones({1, 1, 1}), c({0});
  const auto n = CUBLAS_OP_N;
  OK(cublasSgemm_v2(handle, n, n, 1, 1, 3, &one, a, 1, ones, 3, &zero, c, 1));
  EXPECT_EQ(c.get()[0], 0x1p24F + 2);
  const Array<float> b({1 + 0x1p-11F}), one_of_b({1});
  OK(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
  OK(cublasSgemm_v2(handle, n, n, 1, 1, 1, &one, b, 1, one_of_b, 1, &zero, c, 1));
  EXPECT_EQ(c.get()[0], 1);
  OK(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH));
  OK(cublasSgemm_v2(handle, n, n, 1, 1, 1, &one, b, 1, one_of_b, 1, &zero, c, 1));
  EXPECT_EQ(c.get()[0], 1 + 0x1p-11F);
  const Array<int8_t> s8({64}), other({64});
  const Array<int32_t> to({5});
  const int32_t alpha = 1 << 20, beta = 1 << 30;
  OK(cublasGemmEx(handle, n, n, 1, 1, 1, &alpha, s8, CUDA_R_8I, 1, other, CUDA_R_8I, 1, &beta, to, CUDA_R_32I,
                  1, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT));
  EXPECT_EQ(to.get()[0], 1 << 30);
}

TEST_F(Types, WhatIsRefused) {
  const float one = 1;
  const Array<float> a({1});
  const auto ex = [&](cudaDataType ab, cudaDataType c, cublasComputeType_t compute) {
    return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, &one, a, ab, 1, a, ab, 1, &one, a, c, 1,
                        compute, CUBLAS_GEMM_DEFAULT);
  };
  EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_16F, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(ex(CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_64F), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(ex(CUDA_R_32F, CUDA_R_32F, static_cast<cublasComputeType_t>(1)), CUBLAS_STATUS_INVALID_VALUE);
  const auto gemm = [&](cublasHandle_t with, int m, int lda, const float* alpha) {
    return cublasSgemm_v2(with, CUBLAS_OP_N, CUBLAS_OP_N, m, 1, 1, alpha, a, lda, a, 1, &one, a,
                          std::max(m, 1));
  };
  EXPECT_EQ(gemm(nullptr, 1, 1, &one), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(gemm(handle, -1, 1, &one), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, 2, 1, &one), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, 1, 1, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(gemm(handle, 0, 1, &one), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSgemm_v2(handle, CUBLAS_OP_CONJG, CUBLAS_OP_N, 1, 1, 1, &one, a, 1, a, 1, &one, a, 1),
            CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSdgmm(handle, static_cast<cublasSideMode_t>(7), 1, 1, a, 1, a, 1, a, 1),
            CUBLAS_STATUS_INVALID_VALUE);
}

} // namespace
