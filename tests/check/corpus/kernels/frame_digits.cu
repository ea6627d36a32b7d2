// Each thread writes its number in decimal: a function fills a text that the caller has, from a buffer of its
// own, and says where it begins.
#include <cstdint>

struct Text {
  char* at;
  int length;
};

__device__ __noinline__ Text digits(uint32_t v, char* to) {
  char own[12];
  int n = 0;
#pragma unroll 1
  do {
    own[n++] = '0' + v % 10; // @digit
    v /= 10;
  } while (v != 0);
#pragma unroll 1
  for (int i = 0; i < n; ++i)
    to[i] = own[n - 1 - i]; // @copy
  return {to, n};           // @return
}

extern "C" __global__ void __launch_bounds__(32)
    frame_digits(const uint32_t* in, char* out, uint32_t* lengths) {
  int t = blockIdx.x * 32 + threadIdx.x;
  char mine[12];
  Text text = digits(in[t], mine); // @call
#pragma unroll 1
  for (int i = 0; i < text.length; ++i)
    out[t * 12 + i] = text.at[i] - '0'; // @use
  lengths[t] = text.length;             // @length
}
