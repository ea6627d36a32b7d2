// Atomic additions of float, double, half2 and bfloat162, and a product by compare and swap.
#include "check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

__global__ void add_all(float* f, double* d, half2* h, __nv_bfloat162* b, float* product) {
  const int i = threadIdx.x;
  atomicAdd(f, 0.5f * i);
  atomicAdd(d, 0.25 * i);
  atomicAdd(h, __floats2half2_rn(1, i % 2));
  atomicAdd(b, __floats2bfloat162_rn(1, -(i % 2)));
  auto* bits = reinterpret_cast<int*>(product);
  for (int seen = atomicAdd(bits, 0), assumed;;) {
    assumed = seen;
    seen = atomicCAS(bits, assumed, __float_as_int(__int_as_float(assumed) * (i % 2 ? 2.0f : 0.5f)));
    if (seen == assumed)
      break;
  }
}

int main() {
  const int count = 128;
  DeviceArray<float> f(1), product(std::vector<float>{3});
  DeviceArray<double> d(1);
  DeviceArray<half2> h(1);
  DeviceArray<__nv_bfloat162> b(1);
  add_all<<<1, count>>>(f.data(), d.data(), h.data(), b.data(), product.data());
  ok(cudaGetLastError());
  equal(0.5 * count * (count - 1) / 2, f.host()[0]);
  equal(0.25 * count * (count - 1) / 2, d.host()[0]);
  equal(count, __low2float(h.host()[0]));
  equal(count / 2, __high2float(h.host()[0]));
  equal(count, __low2float(b.host()[0]));
  equal(-count / 2, __high2float(b.host()[0]));
  equal(3, product.host()[0]);
  return result();
}
