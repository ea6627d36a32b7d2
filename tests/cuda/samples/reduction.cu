// The sum of 2^24 integers by 64 blocks of 256 threads, whose warps shuffle, and then of the blocks' sums; 100 times.
#include "../check.h"

constexpr int kBlock = 256, kMostBlocks = 64;

__device__ int sum_of_warp(int sum) {
  for (int distance = 16; distance > 0; distance /= 2)
    sum += __shfl_down_sync(~0u, sum, distance);
  return sum;
}

__global__ void add_up(const int* in, int* out, unsigned count) {
  __shared__ int of_warps[kBlock / 32];
  int sum = 0;
  // Two numbers a round, a block apart.
  for (unsigned i = blockIdx.x * kBlock * 2 + threadIdx.x; i < count; i += gridDim.x * kBlock * 2) {
    sum += in[i];
    if (i + kBlock < count)
      sum += in[i + kBlock];
  }
  sum = sum_of_warp(sum);
  if (threadIdx.x % 32 == 0)
    of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x >= 32)
    return;
  sum = sum_of_warp(threadIdx.x < kBlock / 32 ? of_warps[threadIdx.x] : 0);
  if (threadIdx.x == 0)
    out[blockIdx.x] = sum;
}

int main() {
  const unsigned count = 1 << 24;
  const auto values = small_numbers<int>(count, 0, 255);
  DeviceArray<int> in(values), partial(kMostBlocks), total(1);
  for (int i = 0; i < 100; ++i) {
    add_up<<<kMostBlocks, kBlock>>>(in.data(), partial.data(), count);
    add_up<<<1, kBlock>>>(partial.data(), total.data(), kMostBlocks);
    ok(cudaDeviceSynchronize());
  }
  long wanted = 0;
  for (const int value : values)
    wanted += value;
  equal(static_cast<double>(wanted), total.host()[0]);
  return result();
}
