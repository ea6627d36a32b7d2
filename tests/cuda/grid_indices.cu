// Every index of a launch in three dimensions of grid and block; a grid-stride loop with any number of blocks.
#include "check.h"

__global__ void indices(int4* out) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] =
      make_int4(blockIdx.x * 100 + threadIdx.x, blockIdx.y * 100 + threadIdx.y, blockIdx.z * 100 + threadIdx.z,
                warpSize);
}
__global__ void fill(int* out, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += blockDim.x * gridDim.x)
    out[i] += i;
}

int main() {
  const dim3 grid(3, 4, 5), block(5, 3, 2);
  DeviceArray<int4> out(3 * 4 * 5 * 5 * 3 * 2);
  indices<<<grid, block>>>(out.data());
  const auto got = out.host();
  size_t i = 0;
  for (unsigned bz = 0; bz < grid.z; ++bz)
    for (unsigned by = 0; by < grid.y; ++by)
      for (unsigned bx = 0; bx < grid.x; ++bx)
        for (unsigned z = 0; z < block.z; ++z)
          for (unsigned y = 0; y < block.y; ++y)
            for (unsigned x = 0; x < block.x; ++x, ++i) {
              equal(bx * 100 + x, got[i].x);
              equal(by * 100 + y, got[i].y);
              equal(bz * 100 + z, got[i].z);
              equal(32, got[i].w);
            }
  const int count = 7777;
  DeviceArray<int> filled(count);
  for (const int blocks : {1, 7, 100})
    fill<<<blocks, 96>>>(filled.data(), count);
  std::vector<int> wanted(count);
  for (int j = 0; j < count; ++j)
    wanted[j] = 3 * j;
  equal(wanted, filled.host());
  return result();
}
