// Kernel templates: types, numbers, operations, a fold over a parameter pack, a struct by value.
#include "check.h"

struct Plus {
  template <class T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct Greater {
  template <class T> __device__ T operator()(T a, T b) const { return a > b ? a : b; }
};

template <class T, int Threads, class Operation> __global__ void reduce(const T* in, T* out, Operation f) {
  __shared__ T all[Threads];
  all[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int half = Threads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      all[threadIdx.x] = f(all[threadIdx.x], all[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x == 0)
    *out = all[0];
}

template <class... Ts> __global__ void sum_all(double* out, Ts... values) {
  *out = (0.0 + ... + static_cast<double>(values));
}

struct Big {
  int numbers[100];
  char letter;
  double last;
};

__global__ void take(const __grid_constant__ Big big, double* out) {
  *out = big.numbers[threadIdx.x + 99] + big.letter + big.last;
}

template <class T> void try_type() {
  const auto values = small_numbers<T>(128, 0, 100);
  T sum = 0, greatest = 0;
  for (const T value : values) {
    sum += value;
    greatest = value > greatest ? value : greatest;
  }
  DeviceArray<T> in(values), out(1);
  reduce<T, 128><<<1, 128>>>(in.data(), out.data(), Plus{});
  equal(sum, out.host()[0]);
  reduce<T, 128><<<1, 128>>>(in.data(), out.data(), Greater{});
  equal(greatest, out.host()[0]);
}

int main() {
  try_type<int>();
  try_type<short>();
  try_type<unsigned char>();
  try_type<double>();
  try_type<long long>();
  DeviceArray<double> out(1);
  sum_all<<<1, 1>>>(out.data(), 1, 2.5f, 3.25, 'a', short{-7}, true, 1ull << 40);
  equal(1 + 2.5 + 3.25 + 'a' - 7 + 1 + double(1ull << 40), out.host()[0]);
  Big big{};
  big.numbers[99] = 1000, big.letter = 'x', big.last = 0.5;
  take<<<1, 1>>>(big, out.data());
  equal(1000.5 + 'x', out.host()[0]);
  return result();
}
