// A stencil over rows of 64 u32 with a word at each side: cp.async brings a row into one of four stages,
// three ahead; each word is added to its neighbours, which others have copied. Beyond the matrix there are
// zeros. One CTA of 64 threads.
#include "ops.cuh"

constexpr int width = 64, stages = 4;

extern "C" __global__ void __launch_bounds__(64)
    halo_cpasync(const uint32_t* in, uint32_t* out, int rows, int n) {
  __shared__ uint32_t row[stages][width + 2];
  int t = threadIdx.x;
  if (t < stages)
    row[t][0] = 0; // @zero
#pragma unroll 1
  for (int i = 0; i < stages - 1; ++i) {
    CP_ASYNC_4_ZERO(SHARED(&row[i][t + 1]), in + i * width + (t < n ? t : 0), t < n ? 4 : 0); // @copy_first
    if (t == 63)
      CP_ASYNC_4_ZERO(SHARED(&row[i][width + 1]), in, 0); // @edge_first
    CP_ASYNC_COMMIT();                                    // @commit_first
  }
#pragma unroll 1
  for (int i = 0; i < rows; ++i) {
    int s = i % stages;
    CP_ASYNC_WAIT(stages - 2);                                        // @wait
    __syncthreads();                                                  // @sync
    uint32_t sum = row[s][t] + row[s][t + 1] * 2 + row[s][t + 2] * 3; // @left @right
    int next = i + stages - 1, to = next % stages;
    if (next < rows) {
      CP_ASYNC_4_ZERO(SHARED(&row[to][t + 1]), in + next * width + (t < n ? t : 0), t < n ? 4 : 0); // @copy
      if (t == 63)
        CP_ASYNC_4_ZERO(SHARED(&row[to][width + 1]), in, 0); // @edge
    }
    CP_ASYNC_COMMIT();        // @commit
    out[i * width + t] = sum; // @store
  }
}
