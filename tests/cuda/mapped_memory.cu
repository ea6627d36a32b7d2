// The host's memory as kernels see it: allocated mapped, registered, its flags and its device addresses.
#include "check.h"

#include <cstdlib>

__global__ void square(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * in[i];
}

int main() {
  const int count = 1024;
  int *in = nullptr, *device_in = nullptr, *device_out = nullptr;
  ok(cudaHostAlloc(&in, count * sizeof(int), cudaHostAllocMapped | cudaHostAllocWriteCombined));
  unsigned flags = 0;
  ok(cudaHostGetFlags(&flags, in));
  expect((flags & cudaHostAllocMapped) && (flags & cudaHostAllocWriteCombined));
  auto* out = static_cast<int*>(std::aligned_alloc(4096, count * sizeof(int)));
  ok(cudaHostRegister(out, count * sizeof(int), cudaHostRegisterMapped));
  fails(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(out, count * sizeof(int), 0));
  cudaGetLastError();
  for (int i = 0; i < count; ++i)
    in[i] = i - 500;
  ok(cudaHostGetDevicePointer(&device_in, in, 0));
  ok(cudaHostGetDevicePointer(&device_out, out, 0));
  square<<<4, 256>>>(device_in, device_out);
  ok(cudaDeviceSynchronize());
  for (int i = 0; i < count; ++i)
    equal((i - 500) * (i - 500), out[i]);
  ok(cudaHostUnregister(out));
  fails(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(out));
  cudaGetLastError();
  ok(cudaFreeHost(in));
  std::free(out);
  return result();
}
