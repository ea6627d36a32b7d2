// C[m][n] = A[m][k] * B[k][n] in f32 through two 16x16 shared-memory tiles; the sizes need not be multiples
// of 16. One fma chain an element, k ascending: the padding adds fma(0, 0, acc), which changes no bit.
constexpr unsigned tile = 16;

extern "C" __global__ void tiled_matmul(const float* a, const float* b, float* c, unsigned m, unsigned n,
                                        unsigned k) {
  __shared__ float tile_a[tile][tile];
  __shared__ float tile_b[tile][tile];
  unsigned tx = threadIdx.x, ty = threadIdx.y;
  unsigned row = blockIdx.y * tile + ty, col = blockIdx.x * tile + tx;
  float acc = 0;
  for (unsigned k0 = 0; k0 < k; k0 += tile) {
    tile_a[ty][tx] = row < m && k0 + tx < k ? a[row * k + k0 + tx] : 0.0f;
    tile_b[ty][tx] = k0 + ty < k && col < n ? b[(k0 + ty) * n + col] : 0.0f;
    __syncthreads();
    for (unsigned i = 0; i < tile; ++i)
      acc = fmaf(tile_a[ty][i], tile_b[i][tx], acc);
    __syncthreads();
  }
  if (row < m && col < n)
    c[row * n + col] = acc;
}
