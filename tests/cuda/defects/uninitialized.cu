// A sum in shared memory that nobody has set to zero.
#include "../check.h"

__global__ void add_up(const int* in, int* out) {
  __shared__ int sum;
  __syncthreads();
  atomicAdd(&sum, in[threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0)
    *out = sum; // finding: memory.undefined
}

int main() {
  DeviceArray<int> in(small_numbers<int>(64, 0, 100)), out(1);
  add_up<<<1, 64>>>(in.data(), out.data());
  return result();
}
