// printf() of each of 32 threads.
#include "../check.h"

__global__ void say(int value) {
  const int block = blockIdx.y * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  printf("[%d, %d]: %d\n", block, thread, value);
}

int main() {
  say<<<dim3(2, 2), dim3(2, 2, 2)>>>(10);
  ok(cudaDeviceSynchronize());
  return result();
}
