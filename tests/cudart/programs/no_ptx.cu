// A program without PTX (-gencode arch=compute_90a,code=sm_90a): there is nothing that Lemma could run, and it says so.
#include <cstdio>

__global__ void kernel(int* x) {
  *x = 1;
}

int main() {
  int* x = nullptr;
  cudaMalloc(&x, 4);
  kernel<<<1, 1>>>(x);
  std::puts(cudaGetErrorName(cudaGetLastError()));
}
