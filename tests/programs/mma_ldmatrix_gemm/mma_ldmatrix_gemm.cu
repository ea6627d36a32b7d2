// D = A * B with mma.sync.m16n8k16 f16 -> f32 and ldmatrix, as inline PTX. B comes once row-major
// (ldmatrix.trans) and once as its transpose (plain ldmatrix); D once for each. CTAs of four warps make 32x32
// of D, a 16x16 tile a warp. The rows of the shared tiles are padded by 16 bytes, so that the eight rows of a
// matrix lie in different banks.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int tile_m = 32, tile_n = 32, tile_k = 32, pad = 8;

__device__ uint32_t shared_address(const void* p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

__device__ void ldmatrix_x4(uint32_t (&r)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ void ldmatrix_x4_trans(uint32_t (&r)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

__device__ void ldmatrix_x2(uint32_t& r0, uint32_t& r1, const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];"
               : "=r"(r0), "=r"(r1)
               : "r"(shared_address(row))
               : "memory");
}

__device__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void store(float* d, const float (&acc)[2][4], unsigned row, unsigned col, unsigned n) {
  unsigned lane = threadIdx.x % 32;
  for (int j = 0; j < 2; ++j) {
    float* p = d + (row + lane / 4) * n + col + j * 8 + lane % 4 * 2;
    p[0] = acc[j][0];
    p[1] = acc[j][1];
    p[8 * n] = acc[j][2];
    p[8 * n + 1] = acc[j][3];
  }
}

extern "C" __global__ void mma_ldmatrix_gemm(const half* a, const half* b, const half* b_transposed, float* d,
                                             float* d_transposed, unsigned n, unsigned k) {
  __shared__ __align__(16) half sa[tile_m][tile_k + pad];
  __shared__ __align__(16) half sb[tile_k][tile_n + pad];
  __shared__ __align__(16) half sbt[tile_n][tile_k + pad];
  unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
  unsigned row0 = blockIdx.y * tile_m, col0 = blockIdx.x * tile_n;
  unsigned warp_row = warp / 2 * 16, warp_col = warp % 2 * 16;
  float acc[2][4] = {}, acc_transposed[2][4] = {};

  for (unsigned k0 = 0; k0 < k; k0 += tile_k) {
    // 128 threads copy 32x32 elements of each, 16 bytes a thread.
    unsigned r = t / 4, c = t % 4 * 8;
    *(uint4*)&sa[r][c] = *(const uint4*)&a[(row0 + r) * k + k0 + c];
    *(uint4*)&sb[r][c] = *(const uint4*)&b[(k0 + r) * n + col0 + c];
    *(uint4*)&sbt[r][c] = *(const uint4*)&b_transposed[(col0 + r) * k + k0 + c];
    __syncthreads();
    for (unsigned kk = 0; kk < tile_k; kk += 16) {
      uint32_t frag_a[4], frag_b[4];
      ldmatrix_x4(frag_a, &sa[warp_row + lane % 16][kk + lane / 16 * 8]);
      ldmatrix_x4_trans(frag_b, &sb[kk + lane % 16][warp_col + lane / 16 * 8]);
      mma_m16n8k16(acc[0], frag_a, frag_b[0], frag_b[1]);
      mma_m16n8k16(acc[1], frag_a, frag_b[2], frag_b[3]);
      for (int j = 0; j < 2; ++j) {
        uint32_t b0, b1;
        ldmatrix_x2(b0, b1, &sbt[warp_col + j * 8 + lane % 8][kk + lane / 8 % 2 * 8]);
        mma_m16n8k16(acc_transposed[j], frag_a, b0, b1);
      }
    }
    __syncthreads();
  }
  store(d, acc, row0 + warp_row, col0 + warp_col, n);
  store(d_transposed, acc_transposed, row0 + warp_row, col0 + warp_col, n);
}
