// How often each value is among 64 MiB of bytes: 64 bins, which each thread counts in bytes of its own, and 256, which each
// warp counts by atomics in shared memory; both 17 times.
#include "../check.h"

constexpr unsigned kThreads64 = 64, kBytesAThread = 240, kWarps256 = 6, kBlocks256 = 240;

// A thread counts at most 255, so that a byte will do; a bin's bytes of all threads lie in one row.
__global__ void count_64(unsigned* partial, const uint4* data, unsigned words) {
  __shared__ unsigned char counts[64][kThreads64];
  auto* zeros = reinterpret_cast<unsigned*>(counts);
  for (unsigned i = threadIdx.x; i < sizeof counts / 4; i += kThreads64)
    zeros[i] = 0;
  __syncthreads();
  const unsigned chunk = kThreads64 * kBytesAThread / 16;
  const unsigned begin = blockIdx.x * chunk, end = min(begin + chunk, words);
  for (unsigned i = begin + threadIdx.x; i < end; i += kThreads64) {
    const uint4 four = data[i];
    for (const unsigned word : {four.x, four.y, four.z, four.w})
      for (unsigned shift = 2; shift < 32; shift += 8)
        ++counts[word >> shift & 63][threadIdx.x];
  }
  __syncthreads();
  unsigned sum = 0;
  for (unsigned i = 0; i < kThreads64; ++i)
    sum += counts[threadIdx.x][(i + threadIdx.x) % kThreads64];
  partial[blockIdx.x * 64 + threadIdx.x] = sum;
}

__global__ void count_256(unsigned* partial, const unsigned* data, unsigned words) {
  __shared__ unsigned counts[kWarps256][256];
  for (unsigned i = threadIdx.x; i < kWarps256 * 256; i += blockDim.x)
    counts[0][i] = 0;
  __syncthreads();
  unsigned* mine = counts[threadIdx.x / 32];
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < words; i += gridDim.x * blockDim.x) {
    const unsigned word = data[i];
    for (unsigned shift = 0; shift < 32; shift += 8)
      atomicAdd(&mine[word >> shift & 255], 1);
  }
  __syncthreads();
  for (unsigned bin = threadIdx.x; bin < 256; bin += blockDim.x) {
    unsigned sum = 0;
    for (unsigned warp = 0; warp < kWarps256; ++warp)
      sum += counts[warp][bin];
    partial[blockIdx.x * 256 + bin] = sum;
  }
}

// A block a bin.
__global__ void merge(unsigned* bins, const unsigned* partial, unsigned count) {
  __shared__ unsigned sums[256];
  unsigned sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += 256)
    sum += partial[blockIdx.x + i * gridDim.x];
  sums[threadIdx.x] = sum;
  for (unsigned half = 128; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      sums[threadIdx.x] += sums[threadIdx.x + half];
  }
  if (threadIdx.x == 0)
    bins[blockIdx.x] = sums[0];
}

int main() {
  const unsigned bytes = 64 << 20, blocks_64 = (bytes + kThreads64 * kBytesAThread - 1) / (kThreads64 * kBytesAThread);
  std::vector<unsigned> data(bytes / 4), wanted_64(64), wanted_256(256);
  Numbers numbers(3);
  for (unsigned& word : data)
    word = numbers.next();
  for (const unsigned word : data)
    for (unsigned shift = 0; shift < 32; shift += 8) {
      ++wanted_64[word >> shift >> 2 & 63];
      ++wanted_256[word >> shift & 255];
    }
  DeviceArray<unsigned> in(data), partial(64 * blocks_64), bins_64(64), bins_256(256);
  for (int i = 0; i < 17; ++i) {
    count_64<<<blocks_64, kThreads64>>>(partial.data(), reinterpret_cast<const uint4*>(in.data()), bytes / 16);
    merge<<<64, 256>>>(bins_64.data(), partial.data(), blocks_64);
  }
  for (int i = 0; i < 17; ++i) {
    count_256<<<kBlocks256, kWarps256 * 32>>>(partial.data(), in.data(), bytes / 4);
    merge<<<256, 256>>>(bins_256.data(), partial.data(), kBlocks256);
  }
  ok(cudaGetLastError());
  equal(wanted_64, bins_64.host());
  equal(wanted_256, bins_256.host());
  return result();
}
