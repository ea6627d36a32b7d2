// Dynamic parallelism: a kernel that launches another. Lemma does not execute it, and says so.
#include <cstdio>

__global__ void child(int* out) {
  out[threadIdx.x] = threadIdx.x;
}

__global__ void parent(int* out) {
  child<<<1, 32>>>(out);
}

int main() {
  int* x = nullptr;
  cudaMalloc(&x, 128);
  parent<<<1, 1>>>(x);
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess)
    error = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(error));
  return error == cudaSuccess;
}
