// cvt between integers and floating point, all widths, signs and rounding modes, with the saturation that
// out-of-range values and NaN get.
using u64 = unsigned long long;
using i64 = long long;

#define CVT(type, text)                                                                                      \
  {                                                                                                          \
    unsigned d;                                                                                              \
    asm("{ .reg ." #type " t; cvt." text " t, %1; cvt.u32." #type " %0, t; }" : "=r"(d) : "f"(x));           \
    put(d);                                                                                                  \
  }

extern "C" __global__ void conversions(const float* xs, const double* ys, const unsigned* ws, unsigned* out,
                                       u64* out64, float* out_f, double* out_d, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  float x = xs[i];
  double y = ys[i];
  unsigned w = ws[i], row = 0, row64 = 0, row_f = 0, row_d = 0;
  u64 q = (u64)w << 29 ^ (u64)~w;
  auto put = [&](unsigned v) { out[row++ * n + i] = v; };
  auto put64 = [&](u64 v) { out64[row64++ * n + i] = v; };
  auto put_f = [&](float v) { out_f[row_f++ * n + i] = v; };
  auto put_d = [&](double v) { out_d[row_d++ * n + i] = v; };
  put(__float2int_rn(x));
  put(__float2int_rz(x));
  put(__float2int_ru(x));
  put(__float2int_rd(x));
  put(__float2uint_rn(x));
  put(__float2uint_rz(x));
  put(__double2int_rn(y));
  put(__double2uint_rz(y));
  CVT(u16, "rzi.u16.f32")
  CVT(s16, "rni.s16.f32")
  put(__float_as_uint(x) >> 3);
  put((unsigned)(int)(signed char)w);
  put((unsigned)(unsigned char)(w >> 5));
  put((unsigned)(int)(short)(w >> 3));
  asm("{ .reg .b16 t; cvt.sat.s8.s32 t, %1; cvt.s32.s8 %0, t; }" : "=r"(row64) : "r"(w));
  put(row64);
  asm("{ .reg .b16 t; cvt.sat.u16.s32 t, %1; cvt.u32.u16 %0, t; }" : "=r"(row64) : "r"(w));
  put(row64);
  row64 = 0;
  put64((u64)__float2ll_rn(x));
  put64(__float2ull_rz(x));
  put64((u64)__double2ll_rd(y));
  put64(__double2ull_ru(y));
  put64((u64)(i64)(int)w);
  put_f((float)(int)w);
  put_f((float)w);
  put_f(__int2float_rz((int)w));
  put_f(__uint2float_ru(w));
  put_f((float)(i64)q);
  put_f((float)q);
  put_f(__double2float_rn(y));
  put_f(__double2float_rz(y));
  put_f(__double2float_ru(y));
  put_f(__double2float_rd(y));
  put_d(x == x ? (double)x : 0); // which NaN a NaN becomes is open
  put_d((double)(int)w);
  put_d((double)(i64)q);
  put_d(__ull2double_rd(q));
}
