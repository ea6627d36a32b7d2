// Functions of single and double precision: those that IEEE rounds, bit for bit; others within the guide's bounds.
#include "check.h"

#include <cmath>
#include <limits>

__global__ void exact(const float* x, const float* y, float* out) {
  const int i = threadIdx.x;
  float* o = out + i * 8;
  o[0] = __fadd_rn(x[i], y[i]);
  o[1] = __fmul_rn(x[i], y[i]);
  o[2] = __fdiv_rn(x[i], y[i]);
  o[3] = __fsqrt_rn(fabsf(x[i]));
  o[4] = fmaf(x[i], y[i], 1.0f);
  o[5] = floorf(x[i]) + ceilf(y[i]);
  o[6] = fmodf(x[i], y[i]);
  o[7] = rintf(x[i]) + truncf(y[i]) + copysignf(1, x[i]);
}

__global__ void close(const double* x, double* out) {
  const int i = threadIdx.x;
  double* o = out + i * 6;
  o[0] = sin(x[i]);
  o[1] = exp(x[i]);
  o[2] = log(fabs(x[i]) + 1);
  o[3] = pow(fabs(x[i]), 1.5);
  o[4] = atan2(x[i], 2.0);
  o[5] = erf(x[i]) + tgamma(fabs(x[i]) + 1);
}

__global__ void close_float(const double* x, float* out) {
  const int i = threadIdx.x;
  out[i * 3 + 0] = sinf(static_cast<float>(x[i]));
  out[i * 3 + 1] = expf(static_cast<float>(x[i]));
  out[i * 3 + 2] = tanhf(static_cast<float>(x[i]));
}

void within(double wanted, double got, double units, double epsilon,
            std::source_location where = std::source_location::current()) {
  expect(std::fabs(wanted - got) <= units * epsilon * std::fabs(wanted), where);
}

int main() {
  const int count = 128;
  auto x = small_numbers<float>(count, -100000, 100000, 1), y = small_numbers<float>(count, 1, 5000, 2);
  std::vector<double> z(count);
  for (int i = 0; i < count; ++i) {
    x[i] /= 777;
    y[i] /= 333;
    z[i] = x[i] / 16;
  }
  DeviceArray<float> dx(x), dy(y), out(count * 8), floats(count * 3);
  exact<<<1, count>>>(dx.data(), dy.data(), out.data());
  std::vector<float> wanted;
  for (int i = 0; i < count; ++i)
    wanted.insert(wanted.end(),
                  {x[i] + y[i], x[i] * y[i], x[i] / y[i], std::sqrt(std::fabs(x[i])), std::fma(x[i], y[i], 1.0f),
                   std::floor(x[i]) + std::ceil(y[i]), std::fmod(x[i], y[i]),
                   std::rint(x[i]) + std::trunc(y[i]) + std::copysign(1.0f, x[i])});
  equal(wanted, out.host());
  DeviceArray<double> dz(z), doubles(count * 6);
  close<<<1, count>>>(dz.data(), doubles.data());
  close_float<<<1, count>>>(dz.data(), floats.data());
  const auto d = doubles.host();
  const auto f = floats.host();
  constexpr double kDouble = std::numeric_limits<double>::epsilon(), kFloat = std::numeric_limits<float>::epsilon();
  for (int i = 0; i < count; ++i) {
    within(std::sin(z[i]), d[i * 6], 4, kDouble);
    within(std::exp(z[i]), d[i * 6 + 1], 4, kDouble);
    within(std::log(std::fabs(z[i]) + 1), d[i * 6 + 2], 4, kDouble);
    within(std::pow(std::fabs(z[i]), 1.5), d[i * 6 + 3], 4, kDouble);
    within(std::atan2(z[i], 2.0), d[i * 6 + 4], 4, kDouble);
    within(std::erf(z[i]) + std::tgamma(std::fabs(z[i]) + 1), d[i * 6 + 5], 32, kDouble);
    const double single = static_cast<float>(z[i]);
    within(std::sin(single), f[i * 3], 4, kFloat);
    within(std::exp(single), f[i * 3 + 1], 4, kFloat);
    within(std::tanh(single), f[i * 3 + 2], 4, kFloat);
  }
  return result();
}
