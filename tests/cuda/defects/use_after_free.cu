// A kernel uses memory of its own heap that it has given back.
#include "../check.h"

__global__ void forget(int* out) {
  int* const mine = new int[4];
  mine[1] = threadIdx.x;
  delete[] mine;
  out[threadIdx.x] = mine[1]; // fault: memory.lifetime
}

int main() {
  DeviceArray<int> out(1);
  forget<<<1, 1>>>(out.data());
  cudaDeviceSynchronize();
  return 0;
}
