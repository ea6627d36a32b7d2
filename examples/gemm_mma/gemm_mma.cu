// D = A * B on the tensor cores: A is MxK and B is KxN, both f16 and row-major; D is MxN in f32, row-major.
//
// Each CTA of 128 threads makes a 64x64 tile of D. It walks along K in steps of 32: all threads copy a 64x32
// tile of A and a 32x64 tile of B to shared memory, then each of the four warps multiplies its 32x32 quarter
// of the tile.
//
//            N ->                      one warp's quarter, 32x32, is 2x4 products of mma.m16n8k16:
//          +-----+-----+
//     M    | w0  | w1  |                      n8   n8   n8   n8
//     |    +-----+-----+               m16  +----+----+----+----+
//     v    | w2  | w3  |                    +----+----+----+----+
//          +-----+-----+               m16  +----+----+----+----+
//             64x64                         +----+----+----+----+
//
// What it leaves out, to stay readable: copies are plain loads and stores, not cp.async or TMA; there is one
// buffer, not two, so copying and multiplying take turns; M and N must be multiples of 64 and K of 32.
#include <cstdint>
#include <cuda_fp16.h>

constexpr int tile_m = 64, tile_n = 64, tile_k = 32;

// 16 bytes of padding after each row of a shared tile. ldmatrix reads eight rows of 16 bytes at once; without
// padding they would be 64 (or 128) bytes apart and collide in the banks, with it all 32 banks are used once.
constexpr int pad = 8;

__device__ uint32_t shared_address(const half* p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

// Four 8x8 matrices of f16. Lane i gives the address of row i % 8 of matrix i / 8, and gets of each matrix
// the two neighbouring elements (i / 4, i % 4 * 2) and the next in one register.
__device__ void ldmatrix_x4(uint32_t (&r)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// The same with each matrix transposed, so that the two elements of a register are neighbours in a column.
__device__ void ldmatrix_x4_trans(uint32_t (&r)[4], const half* row) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(shared_address(row))
               : "memory");
}

// d += a * b, where a is 16x16, b is 16x8 and d is 16x8. Lane i holds of d the elements
// (i / 4, i % 4 * 2 + {0, 1}) in d[0], d[1] and (i / 4 + 8, i % 4 * 2 + {0, 1}) in d[2], d[3].
__device__ void mma_m16n8k16(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

extern "C" __global__ void __launch_bounds__(128)
    gemm_mma(const half* a, const half* b, float* d, unsigned m, unsigned n, unsigned k) {
  __shared__ __align__(16) half tile_a[tile_m][tile_k + pad];
  __shared__ __align__(16) half tile_b[tile_k][tile_n + pad];

  unsigned thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  unsigned row0 = blockIdx.y * tile_m, col0 = blockIdx.x * tile_n; // this CTA's tile of D
  unsigned warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;     // this warp's quarter of it
  if (row0 >= m || col0 >= n)
    return;

  float acc[2][4][4] = {};

  for (unsigned k0 = 0; k0 < k; k0 += tile_k) {
    // Both tiles hold 256 pieces of 16 bytes (8 elements): two pieces of each for every thread.
    for (unsigned piece = thread; piece < 256; piece += 128) {
      unsigned r = piece / 4, c = piece % 4 * 8;
      *(uint4*)&tile_a[r][c] = *(const uint4*)&a[(row0 + r) * k + k0 + c];
      r = piece / 8, c = piece % 8 * 8;
      *(uint4*)&tile_b[r][c] = *(const uint4*)&b[(k0 + r) * n + col0 + c];
    }
    __syncthreads(); // the tiles are full

    for (unsigned kk = 0; kk < tile_k; kk += 16) {
      // A fragment of A is 16x16, four 8x8 matrices: rows 0-7 and 8-15 of columns 0-7, then of columns 8-15.
      uint32_t frag_a[2][4];
      for (int i = 0; i < 2; ++i)
        ldmatrix_x4(frag_a[i], &tile_a[warp_row + i * 16 + lane % 16][kk + lane / 16 * 8]);

      // A fragment of B is 16x8, two 8x8 matrices, k rows 0-7 and 8-15. mma wants the two elements of a
      // register to be neighbours along k, and the tile is row-major, so the matrices are transposed on the
      // way. One x4 makes two.
      uint32_t frag_b[2][4];
      for (int j = 0; j < 2; ++j)
        ldmatrix_x4_trans(frag_b[j], &tile_b[kk + lane % 16][warp_col + j * 16 + lane / 16 * 8]);

      for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 4; ++j)
          mma_m16n8k16(acc[i][j], frag_a[i], frag_b[j / 2][j % 2 * 2], frag_b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads(); // everyone has read the tiles, so they may be filled again
  }

  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 4; ++j) {
      unsigned row = row0 + warp_row + i * 16 + lane / 4, col = col0 + warp_col + j * 8 + lane % 4 * 2;
      *(float2*)&d[row * n + col] = make_float2(acc[i][j][0], acc[i][j][1]);
      *(float2*)&d[(row + 8) * n + col] = make_float2(acc[i][j][2], acc[i][j][3]);
    }
}
