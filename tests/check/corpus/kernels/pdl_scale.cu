// The second of two kernels in a row, launched before the first has ended: waits for it, then doubles what it
// wrote. Indices are made before.
#include "ops.cuh"

extern "C" __global__ void __launch_bounds__(64) pdl_scale(const uint32_t* in, uint32_t* out, int n) {
  int t = threadIdx.x, i = blockIdx.x * 64 + t;
  GRID_WAIT();                            // @wait
  uint32_t a = i < n ? in[i] : 0;         // @read
  uint32_t b = i < n ? in[n - 1 - i] : 0; // @read_other
  if (i < n)
    out[i] = a * 2 + b; // @store
  GRID_LAUNCH();        // @launch
}
