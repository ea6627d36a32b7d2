// Double precision: the correctly rounded operations in all rounding modes, and functions that nvcc inlines
// from libdevice as long chains of fma with bit tricks on the two halves of the number.
extern "C" __global__ void f64_math(const double* xs, const double* ys, double* exact, double* approximate,
                                    unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double x = xs[i], y = ys[i];
  unsigned row = 0;
  auto put = [&](double v) { exact[row++ * n + i] = v; };
  put(x / y);
  put(sqrt(fabs(x)));
  put(1 / x);
  put(fma(x, y, -x));
  put(__dadd_rn(x, y));
  put(__dadd_rz(x, y));
  put(__dadd_ru(x, y));
  put(__dadd_rd(x, y));
  put(__dmul_rn(x, y));
  put(__dmul_rz(x, y));
  put(__dmul_ru(x, y));
  put(__dmul_rd(x, y));
  put(__ddiv_rz(x, y));
  put(__ddiv_ru(x, y));
  put(__dsqrt_rd(fabs(x)));
  put(floor(x));
  put(ceil(x));
  put(trunc(x));
  put(rint(x));
  put(fmin(x, y));
  put(fmax(x, y));
  put(fmod(x, y));
  put((double)(float)x);
  put(copysign(x, y));

  unsigned row_approximate = 0;
  auto put_approximate = [&](double v) { approximate[row_approximate++ * n + i] = v; };
  double small = fmod(x, 300.0);
  put_approximate(exp(small));
  put_approximate(log(fabs(x)));
  put_approximate(sin(small));
  put_approximate(cos(small));
  put_approximate(cbrt(x));
  put_approximate(rsqrt(fabs(x)));
  put_approximate(pow(fabs(small), 1.7));
  put_approximate(tanh(small / 64));
}
