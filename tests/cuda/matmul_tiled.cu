// A matrix product by tiles in shared memory.
#include "check.h"

template <int Tile> __global__ void multiply(const float* a, const float* b, float* c, int n) {
  __shared__ float tile_a[Tile][Tile], tile_b[Tile][Tile];
  const int row = blockIdx.y * Tile + threadIdx.y, column = blockIdx.x * Tile + threadIdx.x;
  float sum = 0;
  for (int step = 0; step < n; step += Tile) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * n + step + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(step + threadIdx.y) * n + column];
    __syncthreads();
#pragma unroll
    for (int i = 0; i < Tile; ++i)
      sum += tile_a[threadIdx.y][i] * tile_b[i][threadIdx.x];
    __syncthreads();
  }
  c[row * n + column] = sum;
}

int main() {
  const int n = 64;
  const auto a = small_numbers<float>(n * n, -8, 8, 1), b = small_numbers<float>(n * n, -8, 8, 2);
  std::vector<float> wanted(n * n, 0);
  for (int row = 0; row < n; ++row)
    for (int i = 0; i < n; ++i)
      for (int column = 0; column < n; ++column)
        wanted[row * n + column] += a[row * n + i] * b[i * n + column];
  DeviceArray<float> da(a), db(b), c16(n * n), c32(n * n);
  multiply<16><<<dim3(n / 16, n / 16), dim3(16, 16)>>>(da.data(), db.data(), c16.data(), n);
  multiply<32><<<dim3(n / 32, n / 32), dim3(32, 32)>>>(da.data(), db.data(), c32.data(), n);
  ok(cudaGetLastError());
  equal(wanted, c16.host());
  equal(wanted, c32.host());
  return result();
}
