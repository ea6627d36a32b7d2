// A product of 8-bit matrices with wmma, and the same by __dp4a.
#include "check.h"

#include <mma.h>

using namespace nvcuda;

__global__ void by_tensor_cores(const signed char* a, const signed char* b, int* c, int n) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, signed char, wmma::row_major> a_tile;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, signed char, wmma::col_major> b_tile;
  wmma::fragment<wmma::accumulator, 16, 16, 16, int> c_tile;
  wmma::fill_fragment(c_tile, 0);
  for (int step = 0; step < n; step += 16) {
    wmma::load_matrix_sync(a_tile, a + 16 * blockIdx.y * n + step, n);
    wmma::load_matrix_sync(b_tile, b + 16 * blockIdx.x * n + step, n);
    wmma::mma_sync(c_tile, a_tile, b_tile, c_tile);
  }
  wmma::store_matrix_sync(c + 16 * blockIdx.y * n + 16 * blockIdx.x, c_tile, n, wmma::mem_row_major);
}

__global__ void by_dp4a(const int* a, const int* b, int* c, int n) {
  const int row = blockIdx.x, column = threadIdx.x;
  int sum = 0;
  for (int i = 0; i < n / 4; ++i)
    sum = __dp4a(a[row * n / 4 + i], b[column * n / 4 + i], sum);
  c[row * n + column] = sum;
}

int main() {
  const int n = 64;
  const auto a = small_numbers<signed char>(n * n, -128, 127, 1),
             b = small_numbers<signed char>(n * n, -128, 127, 2);
  std::vector<int> wanted(n * n, 0);
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column)
      for (int i = 0; i < n; ++i)
        wanted[row * n + column] += a[row * n + i] * b[column * n + i];
  DeviceArray<signed char> da(a), db(b);
  DeviceArray<int> c(n * n), c_dp4a(n * n);
  by_tensor_cores<<<dim3(n / 16, n / 16), 32>>>(da.data(), db.data(), c.data(), n);
  by_dp4a<<<n, n>>>(reinterpret_cast<int*>(da.data()), reinterpret_cast<int*>(db.data()), c_dp4a.data(), n);
  ok(cudaGetLastError());
  equal(wanted, c.host());
  equal(wanted, c_dp4a.host());
  return result();
}
