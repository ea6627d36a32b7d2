// The last block writes behind the array: the length is no multiple of the block.
#include "../check.h"

__global__ void square(const int* in, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int value = i < 1000 ? in[i] : 0;
  out[i] = value * value; // fault: memory.bounds
}

int main() {
  DeviceArray<int> in(small_numbers<int>(1000, 0, 100)), out(1000);
  square<<<4, 256>>>(in.data(), out.data());
  fails(cudaErrorIllegalAddress, cudaDeviceSynchronize());
  return failures ? 1 : 0; // succeeds: the finding is what fails
}
