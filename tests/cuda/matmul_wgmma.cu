// A warpgroup's product (wgmma) of half-precision tiles in shared memory without swizzle: core matrices laid out by hand.
// arch: 90a
#include "check.h"

#include <cuda_fp16.h>

constexpr int kM = 64, kN = 8, kK = 64;

// Core matrices are 8 rows of 16 bytes; those that follow each other along K lie 128 bytes apart, those along M or N
// kK * 16 bytes.
__device__ unsigned long long descriptor(const half* tile) {
  const auto address = static_cast<unsigned>(__cvta_generic_to_shared(tile));
  const unsigned long long leading = 128 >> 4, stride = kK * 16 >> 4;
  return ((address & 0x3ffff) >> 4) | leading << 16 | stride << 32;
}

__global__ void multiply(const half* a, const half* b, float* c) {
  __shared__ alignas(128) half tile_a[kM * kK], tile_b[kN * kK];
  const auto place = [](int row, int k) { return (row / 8 * (kK / 8) + k / 8) * 64 + row % 8 * 8 + k % 8; };
  for (int i = threadIdx.x; i < kM * kK; i += blockDim.x)
    tile_a[place(i / kK, i % kK)] = a[i];
  for (int i = threadIdx.x; i < kN * kK; i += blockDim.x)
    tile_b[place(i / kK, i % kK)] = b[i];
  asm volatile("fence.proxy.async;" ::: "memory");
  __syncthreads();
  float d[4] = {};
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  for (int k = 0; k < kK; k += 16)
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(descriptor(tile_a + k / 8 * 64)), "l"(descriptor(tile_b + k / 8 * 64)));
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])::"memory");
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int i = 0; i < 4; ++i)
    c[(warp * 16 + lane / 4 + i / 2 * 8) * kN + lane % 4 * 2 + i % 2] = d[i];
}

int main() {
  const auto a = small_numbers<float>(kM * kK, -8, 8, 1), b = small_numbers<float>(kN * kK, -8, 8, 2);
  std::vector<half> half_a(a.begin(), a.end()), half_b(b.begin(), b.end());
  std::vector<float> wanted(kM * kN, 0);
  for (int row = 0; row < kM; ++row)
    for (int column = 0; column < kN; ++column)
      for (int k = 0; k < kK; ++k)
        wanted[row * kN + column] += a[row * kK + k] * b[column * kK + k];
  DeviceArray<half> da(half_a), db(half_b);
  DeviceArray<float> c(kM * kN);
  multiply<<<1, 128>>>(da.data(), db.data(), c.data());
  ok(cudaGetLastError());
  equal(wanted, c.host());
  return result();
}
