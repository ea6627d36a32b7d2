// A bulk store of what threads have written, without the fence between the two proxies.
#include "../check.h"

#include <cuda/ptx>

namespace ptx = cuda::ptx;

__global__ void write_part(int* out) {
  __shared__ alignas(128) int part[128];
  part[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    ptx::cp_async_bulk(ptx::space_global, ptx::space_shared, out, part, sizeof part); // finding: race.proxy
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group_read(ptx::n32_t<0>());
  }
}

int main() {
  DeviceArray<int> out(128);
  write_part<<<1, 128>>>(out.data());
  return result();
}
