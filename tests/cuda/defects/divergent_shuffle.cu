// A shuffle whose mask names lanes that are elsewhere. Not for a GPU: there it may hang.
#include "../check.h"

__global__ void add_up(const int* in, int* out) {
  int sum = in[threadIdx.x];
  if (threadIdx.x < 16)
    sum += __shfl_down_sync(0xffffffff, sum, 8); // finding: warp.mask, finding: memory.undefined
  out[threadIdx.x] = sum;
}

int main() {
  DeviceArray<int> in(small_numbers<int>(32, 0, 100)), out(32);
  add_up<<<1, 32>>>(in.data(), out.data());
  return result();
}
