// A halo's cell is written behind a tile, into its neighbour.
#include "../check.h"

__global__ void copy(const int* in, int* out) {
  __shared__ int tile[64], other[64];
  other[threadIdx.x] = 0;
  __syncthreads();
  tile[threadIdx.x + 1] = in[threadIdx.x]; // finding: memory.bounds
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x | 1] + other[63];
}

int main() {
  DeviceArray<int> in(small_numbers<int>(64, 0, 100)), out(64);
  copy<<<1, 64>>>(in.data(), out.data());
  return result();
}
