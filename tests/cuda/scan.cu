// Prefix sums of more than a block holds: of each block, of the blocks' sums, and these added again.
#include "check.h"

constexpr int kBlock = 256;

__global__ void scan_blocks(const int* in, int* out, int* sums, int count) {
  __shared__ int both[2][kBlock];
  const int t = threadIdx.x, i = blockIdx.x * kBlock + t;
  int now = 0;
  both[0][t] = i < count ? in[i] : 0;
  for (int distance = 1; distance < kBlock; distance *= 2) {
    __syncthreads();
    both[1 - now][t] = both[now][t] + (t >= distance ? both[now][t - distance] : 0);
    now = 1 - now;
  }
  if (i < count)
    out[i] = both[now][t];
  if (sums && t == kBlock - 1)
    sums[blockIdx.x] = both[now][t];
}

__global__ void add_sums(int* out, const int* sums, int count) {
  const int i = blockIdx.x * kBlock + threadIdx.x;
  if (blockIdx.x > 0 && i < count)
    out[i] += sums[blockIdx.x - 1];
}

int main() {
  const int count = 30011, blocks = (count + kBlock - 1) / kBlock;
  const auto values = small_numbers<int>(count, -50, 100);
  DeviceArray<int> in(values), out(count), sums(blocks), scanned(blocks);
  scan_blocks<<<blocks, kBlock>>>(in.data(), out.data(), sums.data(), count);
  scan_blocks<<<1, kBlock>>>(sums.data(), scanned.data(), nullptr, blocks);
  add_sums<<<blocks, kBlock>>>(out.data(), scanned.data(), count);
  ok(cudaGetLastError());
  std::vector<int> wanted(count);
  int sum = 0;
  for (int i = 0; i < count; ++i)
    wanted[i] = sum += values[i];
  equal(wanted, out.host());
  return result();
}
