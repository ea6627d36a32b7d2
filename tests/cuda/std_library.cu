// cuda::std in kernels: span, array, tuple, optional, complex, algorithms.
#include "check.h"

#include <cuda/std/array>
#include <cuda/std/complex>
#include <cuda/std/optional>
#include <cuda/std/span>
#include <cuda/std/tuple>
#include <cuda/std/utility>

using Complex = cuda::std::complex<float>;

__device__ cuda::std::optional<int> find(cuda::std::span<const int> values, int wanted) {
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i] == wanted)
      return static_cast<int>(i);
  return cuda::std::nullopt;
}

__global__ void use(const int* values, int count, int* found, Complex* powers) {
  const int t = threadIdx.x;
  found[t] = find({values, static_cast<size_t>(count)}, t).value_or(-1);
  cuda::std::array<Complex, 4> all;
  Complex x(t % 5, 1);
  for (Complex& each : all) {
    each = x;
    x *= Complex(t % 5, 1);
  }
  const auto [first, last] = cuda::std::make_tuple(all.front(), all.back());
  powers[t] = first + last;
}

int main() {
  const auto values = small_numbers<int>(50, 0, 63);
  DeviceArray<int> in(values), found(64);
  DeviceArray<Complex> powers(64);
  use<<<1, 64>>>(in.data(), 50, found.data(), powers.data());
  std::vector<int> wanted(64, -1);
  for (int i = 49; i >= 0; --i)
    wanted[values[i]] = i;
  equal(wanted, found.host());
  const auto got = powers.host();
  for (int t = 0; t < 64; ++t) {
    const Complex x(t % 5, 1), sum = x + x * x * x * x;
    equal(sum.real(), got[t].real());
    equal(sum.imag(), got[t].imag());
  }
  return result();
}
