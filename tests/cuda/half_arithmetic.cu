// Half precision and bfloat16: conversions of every bit pattern, packed arithmetic, comparisons.
#include "check.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>

__global__ void convert(float* from_half, unsigned short* to_half, float* from_bf16) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const half h = __ushort_as_half(static_cast<unsigned short>(i));
  from_half[i] = __half2float(h);
  to_half[i] = __half_as_ushort(__float2half_rn(__half2float(h) * 1.5f));
  from_bf16[i] = __bfloat162float(__ushort_as_bfloat16(static_cast<unsigned short>(i)));
}

__global__ void pack(half2* out, const half2* in) {
  const int i = threadIdx.x;
  const half2 x = in[i], y = __lowhigh2highlow(x);
  out[i * 3] = __hfma2(x, y, __float2half2_rn(0.5f));
  out[i * 3 + 1] = __hmul2(__hadd2(x, y), __hsub2(x, y));
  out[i * 3 + 2] = __hmax2(x, y);
}

int main() {
  const int all = 1 << 16;
  DeviceArray<float> from_half(all), from_bf16(all);
  DeviceArray<unsigned short> to_half(all);
  convert<<<all / 256, 256>>>(from_half.data(), to_half.data(), from_bf16.data());
  const auto halves = from_half.host(), bf16s = from_bf16.host();
  const auto back = to_half.host();
  for (int i = 0; i < all; ++i) {
    const half h = __ushort_as_half(static_cast<unsigned short>(i));
    const float wanted = __half2float(h);
    expect(wanted == halves[i] || (wanted != wanted && halves[i] != halves[i]));
    if (wanted == wanted)
      equal(__half_as_ushort(__float2half_rn(wanted * 1.5f)), back[i]);
    const float bf16 = std::bit_cast<float>(static_cast<unsigned>(i) << 16);
    expect(bf16 == bf16s[i] || (bf16 != bf16 && bf16s[i] != bf16s[i]));
  }
  std::vector<half2> in(64);
  for (int i = 0; i < 64; ++i)
    in[i] = __floats2half2_rn(i - 32, 0.25f * i);
  DeviceArray<half2> din(in), out(64 * 3);
  pack<<<1, 64>>>(out.data(), din.data());
  const auto packed = out.host();
  for (int i = 0; i < 64; ++i) {
    const float a = i - 32, b = 0.25f * i;
    equal(__half2float(__float2half_rn(a * b + 0.5f)), __low2float(packed[i * 3]));
    equal(__half2float(__float2half_rn((a + b) * (a - b))), __low2float(packed[i * 3 + 1]));
    equal(a > b ? a : b, __high2float(packed[i * 3 + 2]));
  }
  return result();
}
