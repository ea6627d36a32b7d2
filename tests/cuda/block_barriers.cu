// cuda::barrier in shared memory: arrivals and waits apart, a completion function, copies that it counts.
#include "check.h"

#include <cuda/barrier>

using Barrier = cuda::barrier<cuda::thread_scope_block>;

#pragma nv_diag_suppress static_var_with_dynamic_init // barriers in shared memory: init() makes them
__global__ void exchange(const int* in, int* out, int rounds) {
  __shared__ Barrier ready, used;
  __shared__ int tile[64];
  const int t = threadIdx.x;
  if (t == 0) {
    init(&ready, blockDim.x);
    init(&used, blockDim.x);
  }
  __syncthreads();
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    tile[t] = in[round * 64 + t];
    auto token = ready.arrive();
    const int own = in[round * 64 + t]; // work between
    ready.wait(std::move(token));
    sum += own * tile[63 - t];
    used.arrive_and_wait();
  }
  out[t] = sum;
}

__global__ void copy_whole(const int4* in, int4* out) {
  __shared__ Barrier arrived;
  __shared__ int4 tile[64];
  if (threadIdx.x == 0)
    init(&arrived, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], cuda::aligned_size_t<16>(sizeof(int4)), arrived);
  arrived.arrive_and_wait();
  out[threadIdx.x] = tile[63 - threadIdx.x];
}

int main() {
  const int rounds = 8;
  const auto values = small_numbers<int>(rounds * 64, -100, 100);
  DeviceArray<int> in(values), out(256);
  exchange<<<1, 64>>>(in.data(), out.data(), rounds);
  std::vector<int> wanted(256, 0);
  for (int round = 0; round < rounds; ++round)
    for (int t = 0; t < 64; ++t)
      wanted[t] += values[round * 64 + t] * values[round * 64 + 63 - t];
  equal(wanted, out.host());
  copy_whole<<<1, 64>>>(reinterpret_cast<const int4*>(in.data()), reinterpret_cast<int4*>(out.data()));
  for (int t = 0; t < 64; ++t)
    for (int i = 0; i < 4; ++i)
      wanted[t * 4 + i] = values[(63 - t) * 4 + i];
  equal(wanted, out.host());
  return result();
}
