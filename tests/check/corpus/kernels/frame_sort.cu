// Each thread sorts eight numbers: a function copies them to an array of its own, sorts that, copies it back
// and returns where.
#include <cstdint>

__device__ __noinline__ uint32_t* sorted(const uint32_t* in, uint32_t* to) {
  uint32_t own[8];
  for (int i = 0; i < 8; ++i) {
    uint32_t v = in[i]; // @read
    int j = i;
#pragma unroll 1
    for (; j > 0 && own[j - 1] > v; --j) // @compare
      own[j] = own[j - 1];               // @shift
    own[j] = v;                          // @insert
  }
#pragma unroll 1
  for (int i = 0; i < 8; ++i)
    to[i] = own[i]; // @copy
  return to;        // @return
}

extern "C" __global__ void __launch_bounds__(32) frame_sort(const uint32_t* in, uint32_t* out) {
  int t = blockIdx.x * 32 + threadIdx.x;
  uint32_t mine[8];
  uint32_t* place = sorted(in + t * 8, mine); // @call
#pragma unroll 1
  for (int i = 0; i < 8; ++i)
    out[t * 8 + i] = place[i ^ 1] * 2 + i; // @use
}
