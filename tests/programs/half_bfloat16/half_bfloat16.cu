// Packed arithmetic on __half2 and __nv_bfloat162: add, subtract, multiply, fma, minimum and maximum (also
// with NaN), compare, negate, absolute value, and the conversions. Each element rounds on its own; subnormals
// are kept.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

template <typename T>
__device__ unsigned bits(T v) {
  return *(unsigned*)&v;
}

extern "C" __global__ void half_bfloat16(const half2* a, const half2* b, const half2* c, unsigned* h_out,
                                         const __nv_bfloat162* p, const __nv_bfloat162* q,
                                         const __nv_bfloat162* r, unsigned* b_out, const float2* f,
                                         unsigned* cvt_out, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  half2 x = a[i], y = b[i], z = c[i];
  h_out[0 * n + i] = bits(__hadd2_rn(x, y));
  h_out[1 * n + i] = bits(__hsub2_rn(x, y));
  h_out[2 * n + i] = bits(__hmul2_rn(x, y));
  h_out[3 * n + i] = bits(__hfma2(x, y, z));
  h_out[4 * n + i] = bits(__hmin2(x, y));
  h_out[5 * n + i] = bits(__hmax2_nan(x, y));
  h_out[6 * n + i] = bits(__hgt2(x, y));
  h_out[7 * n + i] = bits(__habs2(__hneg2(x)));
  h_out[8 * n + i] = bits(__hfma2_relu(x, y, z));
  h_out[9 * n + i] = bits(__hadd2_sat(x, y));
  h_out[10 * n + i] = (unsigned)__hbeq2(x, x) | (unsigned)__hblt2(y, z) << 1;

  __nv_bfloat162 u = p[i], v = q[i], w = r[i];
  b_out[0 * n + i] = bits(__hadd2_rn(u, v));
  b_out[1 * n + i] = bits(__hsub2_rn(u, v));
  b_out[2 * n + i] = bits(__hmul2_rn(u, v));
  b_out[3 * n + i] = bits(__hfma2(u, v, w));
  b_out[4 * n + i] = bits(__hmin2(u, v));
  b_out[5 * n + i] = bits(__hmax2(u, v));
  b_out[6 * n + i] = bits(__hle2(u, v));
  b_out[7 * n + i] = bits(__hneg2(__habs2(u)));

  float2 s = f[i];
  cvt_out[0 * n + i] = bits(__floats2half2_rn(s.x, s.y));
  cvt_out[1 * n + i] = bits(__floats2bfloat162_rn(s.x, s.y));
  cvt_out[2 * n + i] = __half_as_ushort(__float2half_rz(s.x)) | __half_as_ushort(__float2half_ru(s.y)) << 16;
  cvt_out[3 * n + i] = bits(__half22float2(x).x);
  cvt_out[4 * n + i] = bits(__bfloat1622float2(u).y);
  cvt_out[5 * n + i] = (unsigned)__half2int_rn(__low2half(y));
  cvt_out[6 * n + i] = bits(__lowhigh2highlow(x));
}
