// A sum by a tree in shared memory, block by block, and then of the blocks' sums.
#include "check.h"

__global__ void reduce(const int* in, int* out, int count) {
  __shared__ int partial[256];
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    sum += in[i];
  partial[threadIdx.x] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      partial[threadIdx.x] += partial[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = partial[0];
}

int main() {
  const int count = 100000;
  const auto values = small_numbers<int>(count, -100, 100);
  DeviceArray<int> in(values), partial(64), total(1);
  reduce<<<64, 256>>>(in.data(), partial.data(), count);
  reduce<<<1, 64>>>(partial.data(), total.data(), 64);
  ok(cudaGetLastError());
  long wanted = 0;
  for (const int value : values)
    wanted += value;
  equal(wanted, total.host()[0]);
  return result();
}
