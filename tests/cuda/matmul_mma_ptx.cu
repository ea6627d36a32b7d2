// A product of half-precision matrices by ldmatrix and mma.sync as inline PTX: a warp 16 by 8.
#include "check.h"

#include <cuda_fp16.h>

__global__ void multiply(const half* a, const half* b, float* c, int n) {
  __shared__ alignas(16) half tile_a[16][16], tile_b[8][16]; // b by columns
  const int lane = threadIdx.x, row = 16 * blockIdx.y, column = 8 * blockIdx.x;
  float d[4] = {};
  for (int step = 0; step < n; step += 16) {
    for (int i = lane; i < 16 * 16; i += 32)
      tile_a[i / 16][i % 16] = a[(row + i / 16) * n + step + i % 16];
    for (int i = lane; i < 8 * 16; i += 32)
      tile_b[i / 16][i % 16] = b[(column + i / 16) * n + step + i % 16];
    __syncwarp();
    unsigned ra[4], rb[2];
    const auto at_a = static_cast<unsigned>(__cvta_generic_to_shared(&tile_a[lane % 16][lane / 16 * 8]));
    const auto at_b = static_cast<unsigned>(__cvta_generic_to_shared(&tile_b[lane % 8][lane / 8 % 2 * 8]));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
                 : "r"(at_a)
                 : "memory");
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
                 : "=r"(rb[0]), "=r"(rb[1])
                 : "r"(at_b)
                 : "memory");
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
                 "{%8, %9}, {%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
    __syncwarp();
  }
  for (int i = 0; i < 4; ++i)
    c[(row + lane / 4 + i / 2 * 8) * n + column + lane % 4 * 2 + i % 2] = d[i];
}

int main() {
  const int n = 64;
  const auto a = small_numbers<float>(n * n, -8, 8, 1), b = small_numbers<float>(n * n, -8, 8, 2);
  std::vector<half> half_a(a.begin(), a.end()), half_b(b.begin(), b.end());
  std::vector<float> wanted(n * n, 0);
  for (int row = 0; row < n; ++row)
    for (int column = 0; column < n; ++column)
      for (int i = 0; i < n; ++i)
        wanted[row * n + column] += a[row * n + i] * b[column * n + i];
  DeviceArray<half> da(half_a), db(half_b);
  DeviceArray<float> c(n * n);
  multiply<<<dim3(n / 8, n / 16), 32>>>(da.data(), db.data(), c.data(), n);
  ok(cudaGetLastError());
  equal(wanted, c.host());
  return result();
}
