// The other half of rdc_main.cu.
#include "check.h"
#include "rdc_library.h"

__device__ int library_calls = 0;
__constant__ int library_table[4] = {10, 20, 30, 40};

__device__ int library_function(int x) {
  return x * x + 1;
}

static __global__ void negate(int* data, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    data[i] = -data[i];
}

int calls_of_library() {
  int calls = 0;
  ok(cudaMemcpyFromSymbol(&calls, library_calls, sizeof calls));
  return calls;
}

void launch_library_kernel(int* data, int count) {
  negate<<<(count + 31) / 32, 32>>>(data, count);
  ok(cudaGetLastError());
}
