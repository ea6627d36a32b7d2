// Sparse mma whose metadata names any two of four columns, one twice too: what of A meets which row of B. A row of A
// is (1, 16, 1, 16, ...), B the identity: row 0 of the product says what each column got.
//
// usage: nvcc -O2 -std=c++17 -arch=sm_90a same_indices.cu -o same_indices && ./same_indices
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <cuda_fp16.h>

__device__ uint32_t bits_of(float low, float high) {
  const __half2 pair = __floats2half2_rn(low, high);
  uint32_t bits = 0;
  memcpy(&bits, &pair, sizeof bits);
  return bits;
}

__global__ void multiply(float* out, uint32_t metadata) {
  const int lane = threadIdx.x, column = lane / 4, row = lane % 4 * 2;
  const uint32_t a = bits_of(1, 16), b = bits_of(row == column, row + 1 == column);
  float d[4] = {};
  asm volatile("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%4}, {%5,%6}, {%0,%1,%2,%3}, %7, 0;"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a), "r"(b), "r"(0), "r"(metadata));
  out[2 * lane] = d[0];
  out[2 * lane + 1] = d[1];
}

int main() {
  float* out = nullptr;
  cudaMalloc(&out, 64 * sizeof(float));
  for (uint32_t field = 0; field < 16; ++field) {
    float row[4];
    multiply<<<1, 32>>>(out, field * 0x11111111u);
    cudaMemcpy(row, out, sizeof row, cudaMemcpyDeviceToHost);
    std::printf("%u: %g %g %g %g\n", field, row[0], row[1], row[2], row[3]);
  }
}
