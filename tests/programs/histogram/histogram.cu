// Counts bytes: atomics on a private histogram in shared memory, then atomics on the result in global memory.
extern "C" __global__ void histogram(const unsigned char* in, unsigned* bins, unsigned n) {
  __shared__ unsigned private_bins[256];
  private_bins[threadIdx.x] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&private_bins[in[i]], 1u);
  __syncthreads();
  if (unsigned count = private_bins[threadIdx.x])
    atomicAdd(&bins[threadIdx.x], count);
}
