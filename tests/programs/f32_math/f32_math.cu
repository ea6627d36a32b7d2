// Single precision: the correctly rounded operations, and functions that nvcc inlines from libdevice: chains
// of fma around ex2.approx and lg2.approx, a table of 2/pi and local memory for the large arguments of sine
// and cosine.
extern "C" __global__ void f32_math(const float* xs, const float* ys, float* exact, float* approximate,
                                    unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = xs[i], y = ys[i];
  unsigned row = 0;
  auto put = [&](float v) { exact[row++ * n + i] = v; };
  put(x / y);
  put(sqrtf(fabsf(x)));
  put(1 / x);
  put(fmaf(x, y, -x));
  put(__fadd_rn(x, y));
  put(__fadd_rz(x, y));
  put(__fadd_ru(x, y));
  put(__fadd_rd(x, y));
  put(__fmul_rn(x, y));
  put(__fmul_rz(x, y));
  put(__fmul_ru(x, y));
  put(__fmul_rd(x, y));
  put(__fdiv_rz(x, y));
  put(__fsqrt_rd(fabsf(x)));
  put(floorf(x));
  put(ceilf(x));
  put(truncf(x));
  put(rintf(x));
  put(fminf(x, y));
  put(fmaxf(x, y));
  put(fmodf(x, y));
  put(__saturatef(x));
  put(copysignf(x, y));

  unsigned row_approximate = 0;
  auto put_approximate = [&](float v) { approximate[row_approximate++ * n + i] = v; };
  float small = fmodf(x, 80.0f);
  put_approximate(sinf(small));
  put_approximate(cosf(small));
  put_approximate(sinf(x));
  put_approximate(cosf(x));
  put_approximate(expf(small));
  put_approximate(logf(fabsf(x)));
  put_approximate(exp2f(small));
  put_approximate(log2f(fabsf(x)));
  put_approximate(tanhf(small / 16));
  put_approximate(rsqrtf(fabsf(x)));
  put_approximate(cbrtf(x));
  put_approximate(powf(fabsf(small), 1.7f));
}
