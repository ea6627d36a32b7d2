// A barrier that half of a block never comes to. Not for a GPU: there it may hang.
#include "../check.h"

__global__ void half_of_them(int* out) {
  __shared__ int values[64];
  values[threadIdx.x] = threadIdx.x;
  if (threadIdx.x < 32) {
    asm volatile("barrier.sync 1, 64;" ::: "memory"); // finding: barrier.count, fault: barrier.count
    out[threadIdx.x] = values[threadIdx.x + 32];
  }
}

int main() {
  DeviceArray<int> out(64);
  half_of_them<<<1, 64>>>(out.data());
  cudaDeviceSynchronize();
  return 0;
}
