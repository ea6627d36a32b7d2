// Products of bf16 and of tf32 matrices by wmma, accumulated in single precision.
#include "check.h"

#include <cuda_bf16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void multiply_bf16(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> b_tile;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c_tile;
  wmma::fill_fragment(c_tile, 0.0f);
  for (int step = 0; step < n; step += 16) {
    wmma::load_matrix_sync(a_tile, a + 16 * blockIdx.y * n + step, n);
    wmma::load_matrix_sync(b_tile, b + step * n + 16 * blockIdx.x, n);
    wmma::mma_sync(c_tile, a_tile, b_tile, c_tile);
  }
  wmma::store_matrix_sync(c + 16 * blockIdx.y * n + 16 * blockIdx.x, c_tile, n, wmma::mem_row_major);
}

__global__ void multiply_tf32(const float* a, const float* b, float* c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 8, wmma::precision::tf32, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, 16, 16, 8, wmma::precision::tf32, wmma::row_major> b_tile;
  wmma::fragment<wmma::accumulator, 16, 16, 8, float> c_tile;
  wmma::fill_fragment(c_tile, 0.0f);
  for (int step = 0; step < n; step += 8) {
    wmma::load_matrix_sync(a_tile, a + 16 * blockIdx.y * n + step, n);
    wmma::load_matrix_sync(b_tile, b + step * n + 16 * blockIdx.x, n);
    for (float& x : a_tile.x)
      x = wmma::__float_to_tf32(x);
    for (float& x : b_tile.x)
      x = wmma::__float_to_tf32(x);
    wmma::mma_sync(c_tile, a_tile, b_tile, c_tile);
  }
  wmma::store_matrix_sync(c + 16 * blockIdx.y * n + 16 * blockIdx.x, c_tile, n, wmma::mem_row_major);
}

int main() {
  const int n = 64;
  const auto a = small_numbers<float>(n * n, -8, 8, 1), b = small_numbers<float>(n * n, -8, 8, 2);
  std::vector<__nv_bfloat16> bf16_a(a.begin(), a.end()), bf16_b(b.begin(), b.end());
  std::vector<float> wanted(n * n, 0);
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column)
      for (int i = 0; i < n; ++i)
        wanted[row * n + column] += a[row * n + i] * b[i * n + column];
  DeviceArray<__nv_bfloat16> a16(bf16_a), b16(bf16_b);
  DeviceArray<float> a32(a), b32(b), c16(n * n), c32(n * n);
  multiply_bf16<<<dim3(n / 16, n / 16), 32>>>(a16.data(), b16.data(), c16.data(), n);
  multiply_tf32<<<dim3(n / 16, n / 16), 32>>>(a32.data(), b32.data(), c32.data(), n);
  ok(cudaGetLastError());
  equal(wanted, c16.host());
  equal(wanted, c32.host());
  return result();
}
