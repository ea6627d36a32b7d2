// D = A * B on the tensor cores with nvcuda::wmma: A is MxK and B is KxN, f16 and row-major; D is MxN in f32,
// row-major. The compiler keeps the layout of a fragment to itself, so there is none of the lane arithmetic
// of examples/gemm_mma.
//
// A CTA of 128 threads makes a 32x32 tile of D, each of its four warps a 16x16 fragment, straight from global
// memory. M and N must be multiples of 32 and K of 16.
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;

extern "C" __global__ void wmma_gemm(const half* a, const half* b, float* d, unsigned m, unsigned n,
                                     unsigned k) {
  unsigned warp = threadIdx.x / 32;
  unsigned row = blockIdx.y * 32 + warp / 2 * 16, col = blockIdx.x * 32 + warp % 2 * 16;
  if (row >= m || col >= n)
    return; // a whole warp: the functions below need all its lanes
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> frag_a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> frag_b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);
  for (unsigned k0 = 0; k0 < k; k0 += 16) {
    wmma::load_matrix_sync(frag_a, a + row * k + k0, k);
    wmma::load_matrix_sync(frag_b, b + k0 * n + col, n);
    wmma::mma_sync(acc, frag_a, frag_b, acc);
  }
  wmma::store_matrix_sync(d + row * n + col, acc, n, wmma::mem_row_major);
}
