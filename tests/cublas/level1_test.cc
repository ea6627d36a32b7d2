// Vectors: every increment, backwards too, results on the host and on the device.
#include "fixture.h"

#include <cmath>

namespace {

double size_of(Complex value) {
  return std::abs(value.real()) + std::abs(value.imag());
}

// What a function gives, to the host and to the device, is the same.
template <class R, class Call>
R result_of(cublasHandle_t handle, Call call) {
  R on_host{};
  OK(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST));
  OK(call(&on_host));
  OK(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE));
  const Array<R> on_device(std::vector<R>(1));
  OK(call(on_device.at()));
  OK(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_HOST));
  const R there = on_device.get()[0];
  EXPECT_EQ(std::memcmp(&on_host, &there, sizeof(R)), 0);
  return on_host;
}

// cublasI?amax: lower case letters.
#define INDEX_FORMS(name)                                                                                    \
  std::pair(pick<T>(cublasIs##name, cublasId##name, cublasIc##name, cublasIz##name),                         \
            pick<T>(cublasIs##name##_64, cublasId##name##_64, cublasIc##name##_64, cublasIz##name##_64))

TYPED_TEST_SUITE(OfType, AllTypes);

TYPED_TEST(OfType, Extremes) {
  using T = TypeParam;
  const int64_t n = 37;
  const auto values = this->template vector<T>(n);
  const Spaced<T> x(values, 2);
  const auto first = [&](bool is_least) {
    size_t found = 0;
    for (size_t i = 1; i < values.size(); ++i)
      if (is_least ? size_of(values[i]) < size_of(values[found])
                   : size_of(values[i]) > size_of(values[found]))
        found = i;
    return static_cast<int64_t>(found) + 1;
  };
  const auto largest = INDEX_FORMS(amax_v2), least = INDEX_FORMS(amin_v2);
  EXPECT_EQ(result_of<int>(this->handle, [&](int* to) { return largest.first(this->handle, n, x, 2, to); }),
            first(false));
  EXPECT_EQ(result_of<int64_t>(this->handle,
                               [&](int64_t* to) { return largest.second(this->handle, n, x, 2, to); }),
            first(false));
  EXPECT_EQ(result_of<int>(this->handle, [&](int* to) { return least.first(this->handle, n, x, 2, to); }),
            first(true));
  EXPECT_EQ(
      result_of<int64_t>(this->handle, [&](int64_t* to) { return least.second(this->handle, n, x, 2, to); }),
      first(true));
  EXPECT_EQ(result_of<int>(this->handle, [&](int* to) { return largest.first(this->handle, 0, x, 1, to); }),
            0);
}

TYPED_TEST(OfType, CopySwapAxpyScal) {
  using T = TypeParam;
  const int64_t n = 11;
  const auto a = this->template vector<T>(n), b = this->template vector<T>(n);
  for (const int64_t incx : {1, 2, -3}) {
    const Spaced<T> x(a, incx);
    both(FORMS(copy_v2), [&](auto f) {
      const Spaced<T> y(b, -2);
      OK(f(this->handle, n, x, incx, y, -2));
      EXPECT_EQ(y.get(), a);
    });
    both(FORMS(swap_v2), [&](auto f) {
      const Spaced<T> first(a, incx), second(b, 1);
      OK(f(this->handle, n, first, incx, second, 1));
      EXPECT_EQ(first.get(), b);
      EXPECT_EQ(second.get(), a);
    });
    both(FORMS(axpy_v2), [&](auto f) {
      const Complex factor = this->template element<T>();
      const T alpha = from_complex<T>(factor);
      const Spaced<T> y(b, 2);
      OK(f(this->handle, n, &alpha, x, incx, y, 2));
      auto wanted = b;
      for (size_t i = 0; i < wanted.size(); ++i)
        wanted[i] += factor * a[i];
      EXPECT_EQ(y.get(), wanted);
    });
  }
  both(FORMS(scal_v2), [&](auto f) {
    const Complex factor = this->template element<T>();
    const T alpha = from_complex<T>(factor);
    const Spaced<T> y(b, 2);
    OK(f(this->handle, n, &alpha, y, 2));
    auto wanted = b;
    for (Complex& value : wanted)
      value *= factor;
    EXPECT_EQ(y.get(), wanted);
  });
}

// (3, 4) and (6, 8) turn by c = 0.5 and s = 2 (i): no rotation, and exact.
TYPED_TEST(OfType, Rot) {
  using T = TypeParam;
  const auto a = this->template vector<T>(5), b = this->template vector<T>(5);
  const RealOf<T> c = 0.5;
  const Complex sine = TypeOf<T>::complex ? Complex(1, 2) : Complex(2);
  const T s = from_complex<T>(sine);
  both(FORMS(rot_v2), [&](auto f) {
    const Spaced<T> x(a, 2), y(b, -1);
    OK(f(this->handle, 5, x, 2, y, -1, &c, &s));
    auto wanted_x = a, wanted_y = b;
    for (size_t i = 0; i < 5; ++i) {
      wanted_x[i] = 0.5 * a[i] + sine * b[i];
      wanted_y[i] = 0.5 * b[i] - std::conj(sine) * a[i];
    }
    EXPECT_EQ(x.get(), wanted_x);
    EXPECT_EQ(y.get(), wanted_y);
  });
}

TYPED_TEST(OfType, Rotg) {
  using T = TypeParam;
  const auto rotg = NARROW_FORMS(rotg_v2);
  for (const bool on_device : {false, true}) {
    T a = from_complex<T>(3), b = from_complex<T>(4), s{};
    RealOf<T> c = 0;
    if (on_device) {
      OK(cublasSetPointerMode_v2(this->handle, CUBLAS_POINTER_MODE_DEVICE));
      const Array<T> all({a, b, s});
      const Array<RealOf<T>> cosine({c});
      OK(rotg(this->handle, all.at(0), all.at(1), cosine, all.at(2)));
      a = all.get()[0], s = all.get()[2], c = cosine.get()[0];
    } else {
      OK(rotg(this->handle, &a, &b, &c, &s));
    }
    EXPECT_EQ(to_complex(a), Complex(5));
    EXPECT_EQ(c, RealOf<T>(3.0 / 5));
    EXPECT_EQ(to_complex(s), Complex(RealOf<T>(4.0 / 5)));
  }
}

TYPED_TEST_SUITE(OfReal, RealTypes);

TYPED_TEST(OfReal, SumsAndDots) {
  using T = TypeParam;
  const auto a = this->template vector<T>(40), b = this->template vector<T>(40);
  const Spaced<T> x(a, 3), y(b, -2);
  double sum = 0, product = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += size_of(a[i]);
    product += (a[i] * b[i]).real();
  }
  both(REAL_FORMS(asum_v2), [&](auto f) {
    EXPECT_EQ(result_of<T>(this->handle, [&](T* to) { return f(this->handle, 40, x, 3, to); }), sum);
  });
  both(REAL_FORMS(dot_v2), [&](auto f) {
    EXPECT_EQ(result_of<T>(this->handle, [&](T* to) { return f(this->handle, 40, x, 3, y, -2, to); }),
              product);
    EXPECT_EQ(result_of<T>(this->handle, [&](T* to) { return f(this->handle, 0, x, 3, y, -2, to); }), 0);
  });
  const Spaced<T> lengths({3, 4, 12}, 2);
  both(REAL_FORMS(nrm2_v2), [&](auto f) {
    EXPECT_EQ(result_of<T>(this->handle, [&](T* to) { return f(this->handle, 3, lengths, 2, to); }), 13);
  });
}

TYPED_TEST(OfReal, Rotm) {
  using T = TypeParam;
  const auto a = this->template vector<T>(4), b = this->template vector<T>(4);
  const double h[][4] = {{0, 0, 0, 0}, {2, 3, 4, 5}, {1, 3, 4, 1}, {2, -1, 1, 5}}; // h11, h21, h12, h22
  for (const int flag : {-2, -1, 0, 1}) {
    const auto& of = h[flag + 2];
    const T param[] = {static_cast<T>(flag), 2, 3, 4, 5};
    both(REAL_FORMS(rotm_v2), [&](auto f) {
      const Spaced<T> x(a, 1), y(b, 2);
      OK(f(this->handle, 4, x, 1, y, 2, param));
      auto wanted_x = a, wanted_y = b;
      for (size_t i = 0; flag != -2 && i < 4; ++i) {
        wanted_x[i] = of[0] * a[i] + of[2] * b[i];
        wanted_y[i] = of[1] * a[i] + of[3] * b[i];
      }
      EXPECT_EQ(x.get(), wanted_x);
      EXPECT_EQ(y.get(), wanted_y);
    });
  }
}

// The rotation makes the second number zero and keeps d1 * x1^2 + d2 * y1^2; scaled where d1 or d2 is far
// from 1.
TYPED_TEST(OfReal, Rotmg) {
  using T = TypeParam;
  const auto rotmg = pick<T>(cublasSrotmg_v2, cublasDrotmg_v2);
  for (const auto& [first, second, x, y, wanted] : {std::tuple(2.0, 1.0, 3.0, 1.0, 0),
                                                    {1.0, 3.0, 1.0, 2.0, 1},
                                                    {1e-9, 1e-9, 4.0, 1.0, -1},
                                                    {1e9, 1.0, 1.0, 1.0, -1}})
    for (const bool on_device : {false, true}) {
      std::vector<T> all{
          static_cast<T>(first), static_cast<T>(second), static_cast<T>(x), static_cast<T>(y), 9, 9, 9, 9, 9};
      if (on_device) {
        OK(cublasSetPointerMode_v2(this->handle, CUBLAS_POINTER_MODE_DEVICE));
        const Array<T> there(all);
        OK(rotmg(this->handle, there.at(0), there.at(1), there.at(2), there.at(3), there.at(4)));
        all = there.get();
        OK(cublasSetPointerMode_v2(this->handle, CUBLAS_POINTER_MODE_HOST));
      } else {
        OK(rotmg(this->handle, &all[0], &all[1], &all[2], &all[3], &all[4]));
      }
      ASSERT_EQ(all[4], wanted);
      const double h11 = wanted == 0 ? 1 : all[5], h21 = wanted == 1 ? -1 : all[6],
                   h12 = wanted == 1 ? 1 : all[7], h22 = wanted == 0 ? 1 : all[8];
      EXPECT_NEAR(h21 * x + h22 * y, 0, 1e-6);
      EXPECT_NEAR((h11 * x + h12 * y) / all[2], 1, 1e-6);
      const double length = first * x * x + second * y * y;
      EXPECT_NEAR(all[0] * all[2] * all[2] / length, 1, 1e-6);
    }
  T one = 1, zero = 0, param[5] = {};
  OK(rotmg(this->handle, &one, &one, &one, &zero, param));
  EXPECT_EQ(param[0], -2);
}

TYPED_TEST_SUITE(OfComplex, ComplexTypes);

TYPED_TEST(OfComplex, SumsAndDots) {
  using T = TypeParam;
  using R = RealOf<T>;
  const auto a = this->template vector<T>(40), b = this->template vector<T>(40);
  const Spaced<T> x(a, 3), y(b, -2);
  double sum = 0;
  Complex product = 0, conjugated = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    sum += size_of(a[i]);
    product += a[i] * b[i];
    conjugated += std::conj(a[i]) * b[i];
  }
  const auto asum =
      std::pair(pick<T>(cublasScasum_v2, cublasDzasum_v2), pick<T>(cublasScasum_v2_64, cublasDzasum_v2_64));
  const auto nrm2 =
      std::pair(pick<T>(cublasScnrm2_v2, cublasDznrm2_v2), pick<T>(cublasScnrm2_v2_64, cublasDznrm2_v2_64));
  both(asum, [&](auto f) {
    EXPECT_EQ(result_of<R>(this->handle, [&](R* to) { return f(this->handle, 40, x, 3, to); }), sum);
  });
  const Spaced<T> lengths({{0, 3}, {4, 0}, 12}, 2);
  both(nrm2, [&](auto f) {
    EXPECT_EQ(result_of<R>(this->handle, [&](R* to) { return f(this->handle, 3, lengths, 2, to); }), 13);
  });
  both(COMPLEX_FORMS(dotu_v2), [&](auto f) {
    EXPECT_EQ(
        to_complex(result_of<T>(this->handle, [&](T* to) { return f(this->handle, 40, x, 3, y, -2, to); })),
        product);
  });
  both(COMPLEX_FORMS(dotc_v2), [&](auto f) {
    EXPECT_EQ(
        to_complex(result_of<T>(this->handle, [&](T* to) { return f(this->handle, 40, x, 3, y, -2, to); })),
        conjugated);
  });
}

TYPED_TEST(OfComplex, RealFactors) {
  using T = TypeParam;
  using R = RealOf<T>;
  const auto a = this->template vector<T>(4), b = this->template vector<T>(4);
  const R factor = 3, c = 0.5, s = 2;
  const auto scal =
      std::pair(pick<T>(cublasCsscal_v2, cublasZdscal_v2), pick<T>(cublasCsscal_v2_64, cublasZdscal_v2_64));
  const auto rot =
      std::pair(pick<T>(cublasCsrot_v2, cublasZdrot_v2), pick<T>(cublasCsrot_v2_64, cublasZdrot_v2_64));
  both(scal, [&](auto f) {
    const Spaced<T> x(a, 2);
    OK(f(this->handle, 4, &factor, x, 2));
    EXPECT_EQ(x.get()[3], 3.0 * a[3]);
  });
  both(rot, [&](auto f) {
    const Spaced<T> x(a, 2), y(b, 1);
    OK(f(this->handle, 4, x, 2, y, 1, &c, &s));
    EXPECT_EQ(x.get()[2], 0.5 * a[2] + 2.0 * b[2]);
    EXPECT_EQ(y.get()[1], 0.5 * b[1] - 2.0 * a[1]);
  });
}

// The forms that say types: f16 elements, and f32 to compute with.
TEST_F(Cublas, VectorsOfTypes) {
  const std::vector<uint16_t> ones{0x3c00, 0x4000, 0xc200}; // 1, 2, -3
  const float two = 2, c = 1, s = 1;
  float result = 0;
  const Array<uint16_t> x(ones);
  both(WIDTHS(cublasAsumEx), [&](auto f) {
    OK(f(handle, 3, x, CUDA_R_16F, 1, &result, CUDA_R_32F, CUDA_R_32F));
    EXPECT_EQ(result, 6);
  });
  both(WIDTHS(cublasDotEx), [&](auto f) {
    OK(f(handle, 3, x, CUDA_R_16F, 1, x, CUDA_R_16F, 1, &result, CUDA_R_32F, CUDA_R_32F));
    EXPECT_EQ(result, 14);
  });
  both(WIDTHS(cublasDotcEx), [&](auto f) {
    OK(f(handle, 2, x, CUDA_R_16F, 1, x, CUDA_R_16F, 1, &result, CUDA_R_32F, CUDA_R_32F));
    EXPECT_EQ(result, 5);
  });
  const Array<uint16_t> lengths({0x4200, 0x4400}); // 3, 4
  both(WIDTHS(cublasNrm2Ex), [&](auto f) {
    OK(f(handle, 2, lengths, CUDA_R_16F, 1, &result, CUDA_R_32F, CUDA_R_32F));
    EXPECT_EQ(result, 5);
  });
  both(WIDTHS(cublasAxpyEx), [&](auto f) {
    const Array<uint16_t> y(ones);
    OK(f(handle, 3, &two, CUDA_R_32F, x, CUDA_R_16F, 1, y, CUDA_R_16F, 1, CUDA_R_32F));
    EXPECT_EQ(y.get()[1], 0x4600); // 6
  });
  both(WIDTHS(cublasScalEx), [&](auto f) {
    const Array<uint16_t> y(ones);
    OK(f(handle, 3, &two, CUDA_R_32F, y, CUDA_R_16F, 1, CUDA_R_32F));
    EXPECT_EQ(y.get()[2], 0xc600); // -6
  });
  both(WIDTHS(cublasCopyEx), [&](auto f) {
    const Array<uint16_t> y({0, 0, 0});
    OK(f(handle, 3, x, CUDA_R_16F, 1, y, CUDA_R_16F, 1));
    EXPECT_EQ(y.get(), ones);
  });
  both(WIDTHS(cublasSwapEx), [&](auto f) {
    const Array<uint16_t> a(ones), b({0, 0, 0});
    OK(f(handle, 3, a, CUDA_R_16F, 1, b, CUDA_R_16F, 1));
    EXPECT_EQ(b.get(), ones);
    EXPECT_EQ(a.get()[0], 0);
  });
  both(WIDTHS(cublasRotEx), [&](auto f) {
    const Array<uint16_t> a(ones), b(ones);
    OK(f(handle, 3, a, CUDA_R_16F, 1, b, CUDA_R_16F, 1, &c, &s, CUDA_R_32F, CUDA_R_32F));
    EXPECT_EQ(a.get()[1], 0x4400); // 4
    EXPECT_EQ(b.get()[1], 0);
  });
}

} // namespace
