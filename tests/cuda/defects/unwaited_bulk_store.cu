// A bulk store out of a buffer that is written again before anybody has waited for it.
#include "../check.h"

#include <cuda/ptx>

namespace ptx = cuda::ptx;

__global__ void write_parts(int* out, int parts) {
  __shared__ alignas(128) int part[128];
  for (int i = 0; i < parts; ++i) {
    part[threadIdx.x] = i * 1000 + threadIdx.x; // finding: async.unwaited
    ptx::fence_proxy_async(ptx::space_shared);
    __syncthreads();
    if (threadIdx.x == 0) {
      ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out + i * 128, part, sizeof part);
      ptx::cp_async_bulk_commit_group();
    }
    __syncthreads();
  }
  if (threadIdx.x == 0)
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
}

int main() {
  DeviceArray<int> out(4 * 128);
  write_parts<<<1, 128>>>(out.data(), 4);
  return result();
}
