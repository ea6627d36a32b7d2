// What separate.cu uses.
__device__ int offset = 1;
__constant__ int weights[3] = {5, 6, 7};

__device__ int weighted(int x) {
  return weights[x % 3] * x;
}

__global__ void of_the_part(int* out) {
  out[threadIdx.x] = offset + threadIdx.x;
}

void part_set(int value) {
  cudaMemcpyToSymbol(offset, &value, sizeof value);
}
