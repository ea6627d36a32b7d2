// cp.async, and its group is not waited for before the tile is read.
#include "../check.h"

#include <cuda_pipeline.h>

__global__ void copy(const int4* in, int4* out) {
  __shared__ int4 tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], &in[threadIdx.x], sizeof(int4));
  __pipeline_commit();
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x]; // finding: async.unwaited
  __pipeline_wait_prior(0);
}

int main() {
  DeviceArray<int> in(small_numbers<int>(256, 0, 100)), out(256);
  copy<<<1, 64>>>(reinterpret_cast<const int4*>(in.data()), reinterpret_cast<int4*>(out.data()));
  return result();
}
