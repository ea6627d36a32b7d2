// D = A * B + C with nvcuda::wmma, f16 in and f32 out: one 16x16 tile of D a warp, four warps a CTA, a loop
// over K. A and B are row-major and come from global memory. M and N are multiples of 32, K is one of 16.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void wmma_gemm(const half* a, const half* b, const float* c, float* d, unsigned n,
                                     unsigned k) {
  unsigned warp = threadIdx.x / 32;
  unsigned row = blockIdx.y * 32 + warp / 2 * 16, col = blockIdx.x * 32 + warp % 2 * 16;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> frag_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> frag_b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::load_matrix_sync(acc, c + row * n + col, n, wmma::mem_row_major);
  for (unsigned k0 = 0; k0 < k; k0 += 16) {
    wmma::load_matrix_sync(frag_a, a + row * k + k0, k);
    wmma::load_matrix_sync(frag_b, b + k0 * n + col, n);
    wmma::mma_sync(acc, frag_a, frag_b, acc);
  }
  wmma::store_matrix_sync(d + row * n + col, acc, n, wmma::mem_row_major);
}
