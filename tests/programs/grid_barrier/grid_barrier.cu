// A barrier over the whole grid made by hand: one thread a CTA arrives with an atomic add and spins until all
// CTAs have. All CTAs must be resident, or at least make progress, together. Each round every CTA replaces
// its row by the sum of its left and right neighbours' rows of the round before: a CTA that runs ahead or
// reads stale data shows in the result.
__device__ void grid_barrier_wait(unsigned* arrived, unsigned target) {
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(arrived, 1u);
    while (*(volatile unsigned*)arrived < target) {
    }
    __threadfence();
  }
  __syncthreads();
}

extern "C" __global__ void grid_barrier(unsigned* rows, unsigned* scratch, unsigned* arrived,
                                        unsigned rounds) {
  unsigned t = threadIdx.x, cta = blockIdx.x, ctas = gridDim.x;
  unsigned left = (cta + ctas - 1) % ctas, right = (cta + 1) % ctas;
  unsigned *from = rows, *to = scratch;
  for (unsigned round = 1; round <= rounds; ++round) {
    to[cta * blockDim.x + t] =
        from[left * blockDim.x + t] + 3 * from[right * blockDim.x + (t + 1) % blockDim.x];
    grid_barrier_wait(arrived, round * ctas);
    unsigned* swap = from;
    from = to;
    to = swap;
  }
}
