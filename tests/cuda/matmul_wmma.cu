// A product of half-precision matrices by nvcuda::wmma, one tile of 16 by 16 a warp.
#include "check.h"

#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__global__ void multiply(const half* a, const half* b, float* c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::col_major> b_tile;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c_tile;
  wmma::fill_fragment(c_tile, 0.0f);
  const int row = 16 * (blockIdx.y * blockDim.y + threadIdx.y), column = 16 * blockIdx.x;
  for (int step = 0; step < n; step += 16) {
    wmma::load_matrix_sync(a_tile, a + row * n + step, n);
    wmma::load_matrix_sync(b_tile, b + column * n + step, n);
    wmma::mma_sync(c_tile, a_tile, b_tile, c_tile);
  }
  for (int i = 0; i < c_tile.num_elements; ++i)
    c_tile.x[i] *= 2;
  wmma::store_matrix_sync(c + row * n + column, c_tile, n, wmma::mem_row_major);
}

int main() {
  const int n = 64;
  const auto a = small_numbers<float>(n * n, -8, 8, 1), b = small_numbers<float>(n * n, -8, 8, 2);
  std::vector<half> half_a(a.begin(), a.end()), half_b(b.begin(), b.end()); // b by columns
  std::vector<float> wanted(n * n, 0);
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column)
      for (int i = 0; i < n; ++i)
        wanted[row * n + column] += 2 * a[row * n + i] * b[column * n + i];
  DeviceArray<half> da(half_a), db(half_b);
  DeviceArray<float> c(n * n);
  multiply<<<dim3(n / 16, n / 32), dim3(32, 2)>>>(da.data(), db.data(), c.data(), n);
  ok(cudaGetLastError());
  equal(wanted, c.host());
  return result();
}
