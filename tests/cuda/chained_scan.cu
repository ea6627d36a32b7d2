// A prefix sum in one pass: each block waits for the one before it, in the order in which they have begun.
#include "check.h"

#include <cuda/atomic>

__device__ int tickets = 0;

__global__ void scan(const int* in, int* out, int* sums, int* ready, int count) {
  __shared__ int values[256], ticket, before;
  if (threadIdx.x == 0)
    ticket = atomicAdd(&tickets, 1);
  __syncthreads();
  const int i = ticket * 256 + threadIdx.x;
  values[threadIdx.x] = i < count ? in[i] : 0;
  __syncthreads();
  for (int distance = 1; distance < 256; distance *= 2) {
    const int other = threadIdx.x >= distance ? values[threadIdx.x - distance] : 0;
    __syncthreads();
    values[threadIdx.x] += other;
    __syncthreads();
  }
  if (threadIdx.x == 0) {
    before = 0;
    if (ticket > 0) {
      cuda::atomic_ref<int, cuda::thread_scope_device> flag(ready[ticket - 1]);
      while (flag.load(cuda::std::memory_order_acquire) == 0) {
      }
      before = sums[ticket - 1];
    }
    sums[ticket] = before + values[255];
    cuda::atomic_ref<int, cuda::thread_scope_device>(ready[ticket]).store(1, cuda::std::memory_order_release);
  }
  __syncthreads();
  if (i < count)
    out[i] = before + values[threadIdx.x];
}

int main() {
  const int count = 20000, blocks = (count + 255) / 256;
  const auto values = small_numbers<int>(count, -50, 100);
  DeviceArray<int> in(values), out(count), sums(blocks), ready(blocks);
  scan<<<blocks, 256>>>(in.data(), out.data(), sums.data(), ready.data(), count);
  std::vector<int> wanted(count);
  int sum = 0;
  for (int i = 0; i < count; ++i)
    wanted[i] = sum += values[i];
  equal(wanted, out.host());
  return result();
}
