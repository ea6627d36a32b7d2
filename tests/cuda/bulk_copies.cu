// Bulk copies (TMA without a tensor map): in with an mbarrier, changed in shared memory, out with a group that is
// waited for.
#include "check.h"

#include <cuda/barrier>
#include <cuda/ptx>

namespace ptx = cuda::ptx;
using Barrier = cuda::barrier<cuda::thread_scope_block>;

constexpr int kCount = 512;

#pragma nv_diag_suppress static_var_with_dynamic_init // barriers in shared memory: init() makes them
__global__ void double_parts(const int* in, int* out) {
  __shared__ alignas(128) int part[kCount];
  __shared__ Barrier arrived;
  if (threadIdx.x == 0) {
    init(&arrived, blockDim.x);
    ptx::fence_proxy_async(ptx::space_shared);
  }
  __syncthreads();
  Barrier::arrival_token token;
  if (threadIdx.x == 0) {
    cuda::device::memcpy_async_tx(part, in + blockIdx.x * kCount, cuda::aligned_size_t<16>(sizeof part), arrived);
    token = cuda::device::barrier_arrive_tx(arrived, 1, sizeof part);
  } else {
    token = arrived.arrive();
  }
  arrived.wait(std::move(token));
  for (int i = threadIdx.x; i < kCount; i += blockDim.x)
    part[i] = part[i] * 2 + 1;
  ptx::fence_proxy_async(ptx::space_shared);
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + blockIdx.x * kCount, part, sizeof part);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

int main() {
  const int blocks = 6;
  const auto values = small_numbers<int>(blocks * kCount, -1000, 1000);
  DeviceArray<int> in(values), out(values.size());
  double_parts<<<blocks, 128>>>(in.data(), out.data());
  ok(cudaGetLastError());
  auto wanted = values;
  for (int& x : wanted)
    x = x * 2 + 1;
  equal(wanted, out.host());
  return result();
}
