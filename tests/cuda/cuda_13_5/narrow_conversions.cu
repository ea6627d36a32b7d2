// Floating point of 8, 6, 4 bits and powers of two: every pair's halves to half and bfloat16, and back.
// arch: 100a
#include "../check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <cstring>

// What one thread makes of the bits of its index. The same function computes on the host what is wanted.
struct Made {
  unsigned from_e4m3, from_e5m2, from_e2m3, from_e3m2, from_e2m1; // pairs of f16
  unsigned short to_e4m3, to_e5m2, to_e2m3, to_e3m2;              // of f16
  unsigned short bf_to_e4m3, bf_to_e5m2, bf_to_e2m3, bf_to_e3m2;  // of bf16
  unsigned short up_to_e8m0, down_to_e8m0;                        // of bf16
  unsigned char to_e2m1, bf_to_e2m1, f_to_e2m1, unused = 0;
  unsigned from_e8m0; // a pair of bf16
};

__host__ __device__ unsigned bits(__half2_raw pair) {
  return static_cast<unsigned>(pair.x) | static_cast<unsigned>(pair.y) << 16;
}
__host__ __device__ unsigned bits(__nv_bfloat162_raw pair) {
  return static_cast<unsigned>(pair.x) | static_cast<unsigned>(pair.y) << 16;
}

__host__ __device__ Made make(unsigned i) {
  // Two bytes, the second any permutation of all; and two halves of numbers: each 16 bits once in `x`.
  const auto bytes = static_cast<unsigned short>((i & 0xff) | ((i * 167 + 13) & 0xff) << 8);
  __half2_raw half;
  half.x = static_cast<unsigned short>(i);
  half.y = static_cast<unsigned short>(i * 40503u + 17);
  __nv_bfloat162_raw brain;
  brain.x = half.x;
  brain.y = half.y;
  Made made;
  made.from_e4m3 = bits(__nv_cvt_fp8x2_to_halfraw2(bytes, __NV_E4M3));
  made.from_e5m2 = bits(__nv_cvt_fp8x2_to_halfraw2(bytes, __NV_E5M2));
  made.from_e2m3 = bits(__nv_cvt_fp6x2_to_halfraw2(bytes & 0x3f3f, __NV_E2M3));
  made.from_e3m2 = bits(__nv_cvt_fp6x2_to_halfraw2(bytes & 0x3f3f, __NV_E3M2));
  made.from_e2m1 = bits(__nv_cvt_fp4x2_to_halfraw2(static_cast<unsigned char>(bytes), __NV_E2M1));
  made.to_e4m3 = __nv_cvt_halfraw2_to_fp8x2(half, __NV_SATFINITE, __NV_E4M3);
  made.to_e5m2 = __nv_cvt_halfraw2_to_fp8x2(half, __NV_SATFINITE, __NV_E5M2);
  made.to_e2m3 = __nv_cvt_halfraw2_to_fp6x2(half, __NV_E2M3, cudaRoundNearest);
  made.to_e3m2 = __nv_cvt_halfraw2_to_fp6x2(half, __NV_E3M2, cudaRoundNearest);
  made.to_e2m1 = __nv_cvt_halfraw2_to_fp4x2(half, __NV_E2M1, cudaRoundNearest);
  made.bf_to_e4m3 = __nv_cvt_bfloat16raw2_to_fp8x2(brain, __NV_SATFINITE, __NV_E4M3);
  made.bf_to_e5m2 = __nv_cvt_bfloat16raw2_to_fp8x2(brain, __NV_SATFINITE, __NV_E5M2);
  made.bf_to_e2m3 = __nv_cvt_bfloat16raw2_to_fp6x2(brain, __NV_E2M3, cudaRoundNearest);
  made.bf_to_e3m2 = __nv_cvt_bfloat16raw2_to_fp6x2(brain, __NV_E3M2, cudaRoundNearest);
  made.bf_to_e2m1 = __nv_cvt_bfloat16raw2_to_fp4x2(brain, __NV_E2M1, cudaRoundNearest);
  made.f_to_e2m1 = __nv_cvt_float2_to_fp4x2(
      make_float2(static_cast<float>(static_cast<int>(i) - 32768) / 4096, static_cast<float>(i & 0xff) / 32),
      __NV_E2M1, cudaRoundNearest);
  made.up_to_e8m0 = __nv_cvt_bfloat162raw_to_e8m0x2(brain, __NV_SATFINITE, cudaRoundPosInf);
  made.down_to_e8m0 = __nv_cvt_bfloat162raw_to_e8m0x2(brain, __NV_SATFINITE, cudaRoundZero);
  made.from_e8m0 = bits(__nv_cvt_e8m0x2_to_bf162raw(bytes));
  return made;
}

__global__ void convert(Made* made) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  made[i] = make(i);
}

int main() {
  DeviceArray<Made> made(1 << 16);
  convert<<<256, 256>>>(made.data());
  const auto got = made.host();
  for (unsigned i = 0; i < got.size(); ++i) {
    const Made wanted = make(i); // the headers' own conversions on the host
    if (std::memcmp(&wanted, &got[i], sizeof wanted) == 0)
      continue;
    const auto* const a = reinterpret_cast<const unsigned char*>(&wanted);
    const auto* const b = reinterpret_cast<const unsigned char*>(&got[i]);
    for (size_t at = 0; at < sizeof wanted; ++at)
      if (a[at] != b[at] && failures < 20)
        std::fprintf(stderr, "%#x: byte %zu is %#x, and not %#x\n", i, at, b[at], a[at]);
    expect(false);
  }
  return result();
}
