// compile_programs: -fmad=false
// What nvcc makes of CUDA's functions: libdevice's code around the approximate instructions, the intrinsics, and those
// of cuda_fp16.h. ../nvcc_math_fast is the same with -use_fast_math. Without -fmad=false PTX would have multiplications
// and additions that ptxas may fuse.
#include <cuda_fp16.h>

extern "C" __global__ void singles(const float* xs, const float* ys, float* results, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = xs[i], y = ys[i];
  unsigned row = 0;
  auto put = [&](float v) { results[row++ * n + i] = v; };
  put(expf(x));
  put(__expf(x));
  put(exp2f(x));
  put(exp10f(x));
  put(expm1f(x));
  put(logf(x));
  put(__logf(x));
  put(log2f(x));
  put(log10f(x));
  put(log1pf(x));
  put(powf(x, y));
  put(__powf(x, y));
  put(sinf(x));
  put(__sinf(x));
  put(cosf(x));
  put(__cosf(x));
  put(tanf(x));
  put(tanhf(x));
  put(erff(x));
  put(rsqrtf(x));
  put(sqrtf(x));
  put(1 / x);
  put(x / y);
  put(__fdividef(x, y));
  put(1 / (1 + expf(-x)));
}

extern "C" __global__ void halves(const __half* xs, __half* results, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  __half x = xs[i];
  unsigned row = 0;
  auto put = [&](__half v) { results[row++ * n + i] = v; };
  put(hexp(x));
  put(hexp2(x));
  put(hexp10(x));
  put(hlog(x));
  put(hlog2(x));
  put(hsin(x));
  put(hcos(x));
  put(htanh(x));
  put(htanh_approx(x));
  put(hrsqrt(x));
  put(hsqrt(x));
  put(hrcp(x));
  put(__hdiv(__float2half(1.75f), x));
}
