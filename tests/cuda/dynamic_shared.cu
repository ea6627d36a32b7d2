// Dynamic shared memory: laid out by hand, more than 48 KiB after asking for it, refused before.
#include "check.h"

extern __shared__ unsigned char memory[];

__global__ void reverse(const double* in, double* out, int count) {
  auto* doubles = reinterpret_cast<double*>(memory);
  auto* order = reinterpret_cast<int*>(doubles + count);
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    doubles[i] = in[i];
    order[i] = count - 1 - i;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    out[i] = doubles[order[i]];
}

int main() {
  for (const int count : {100, 4000, 10000}) {
    const auto values = small_numbers<double>(count, -1000, 1000);
    DeviceArray<double> in(values), out(count);
    const size_t bytes = count * (sizeof(double) + sizeof(int));
    if (bytes > 48 * 1024) {
      if (count == 10000) {
        ok(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 0));
        reverse<<<1, 256, bytes>>>(in.data(), out.data(), count);
        fails(cudaErrorInvalidValue, cudaGetLastError());
      }
      ok(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)));
    }
    reverse<<<1, 256, bytes>>>(in.data(), out.data(), count);
    ok(cudaGetLastError());
    equal(std::vector<double>(values.rbegin(), values.rend()), out.host());
  }
  fails(cudaErrorInvalidValue,
        cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 20));
  fails(cudaErrorInvalidValue, cudaGetLastError());
  return result();
}
