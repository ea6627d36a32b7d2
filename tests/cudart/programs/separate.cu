// One half of a program of relocatable code (-rdc=true); the other is separate_part.cu.
#include <cstdio>

extern __device__ int offset;
extern __constant__ int weights[3];
__device__ int weighted(int x);
void part_set(int value);
__global__ void of_the_part(int* out);

__global__ void own(int* out) {
  out[threadIdx.x] = weighted(threadIdx.x) + offset;
}

int main() {
  int *x = nullptr, got[32];
  cudaMalloc(&x, sizeof got);
  part_set(100);
  own<<<1, 32>>>(x);
  if (cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess)
    return std::puts("own fails"), 1;
  for (int i = 0; i < 32; ++i)
    if (got[i] != (i % 3 + 5) * i + 100)
      return std::printf("own: %d is %d\n", i, got[i]), 1;
  of_the_part<<<1, 32>>>(x);
  if (cudaMemcpy(got, x, sizeof got, cudaMemcpyDeviceToHost) != cudaSuccess || got[31] != 131)
    return std::puts("of_the_part fails"), 1;
  int weights_back[3];
  if (cudaMemcpyFromSymbol(weights_back, weights, sizeof weights_back) != cudaSuccess || weights_back[2] != 7)
    return std::puts("the symbol is not found"), 1;
  std::puts("ok");
}
