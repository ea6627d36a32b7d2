// Transposes and negates a 32x32 tile of f16 a CTA: four warps copy it to shared memory, each takes four 8x8
// matrices with ldmatrix.trans and puts them back with stmatrix where they belong in another tile, which is
// written row by row.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(128)
    transpose_ldmatrix(const uint16_t* in, uint16_t* out, int n) {
  __shared__ __align__(16) uint16_t from[32][40];
  __shared__ __align__(16) uint16_t to[32][40];
  int t = threadIdx.x, warp = t / 32, lane = t % 32;
  int row = blockIdx.y * 32, column = blockIdx.x * 32;
  int y = t / 4, x = t % 4 * 8;
  *(uint4*)&from[y][x] = *(const uint4*)(in + (row + y) * n + column + x); // @write
  __syncthreads();                                                         // @sync_from
  uint32_t r[4];
  int by = warp / 2 * 16, bx = warp % 2 * 16;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(SHARED(&from[by + lane % 16][bx + lane / 16 * 8]))
               : "memory"); // @ldmatrix
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   SHARED(&to[bx + lane / 16 * 8 + lane % 8][by + lane / 8 % 2 * 8])),
               "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
               : "memory");                                                               // @stmatrix
  __syncthreads();                                                                        // @sync_to
  uint4 v = *(const uint4*)&to[y][x];                                                     // @read
  v = make_uint4(v.x ^ 0x80008000, v.y ^ 0x80008000, v.z ^ 0x80008000, v.w ^ 0x80008000); // @negate
  *(uint4*)(out + (column + y) * n + row + x) = v;                                        // @store
}
