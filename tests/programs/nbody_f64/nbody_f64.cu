// Gravity between 64 bodies in f64, all pairs, positions in shared memory; one CTA, several steps. Every
// multiply-add is an explicit fma and the rest is correctly rounded (sqrt.rn, rcp.rn), so the bits do not
// depend on the compiler.
constexpr int bodies = 64;

extern "C" __global__ void nbody_f64(const double* start, const double* mass, double* pos_out,
                                     double* vel_out, unsigned steps, double dt) {
  __shared__ double pos[3][bodies], m[bodies];
  int t = threadIdx.x;
  double vx = 0, vy = 0, vz = 0;
  double x = start[t], y = start[bodies + t], z = start[2 * bodies + t];
  m[t] = mass[t];
  for (unsigned step = 0; step < steps; ++step) {
    pos[0][t] = x;
    pos[1][t] = y;
    pos[2][t] = z;
    __syncthreads();
    double ax = 0, ay = 0, az = 0;
    for (int j = 0; j < bodies; ++j) {
      double dx = __dsub_rn(pos[0][j], x), dy = __dsub_rn(pos[1][j], y), dz = __dsub_rn(pos[2][j], z);
      double r2 = fma(dz, dz, fma(dy, dy, fma(dx, dx, 0.0625)));
      double s = __dmul_rn(m[j], __drcp_rn(__dmul_rn(r2, __dsqrt_rn(r2))));
      ax = fma(dx, s, ax);
      ay = fma(dy, s, ay);
      az = fma(dz, s, az);
    }
    vx = fma(ax, dt, vx);
    vy = fma(ay, dt, vy);
    vz = fma(az, dt, vz);
    x = fma(vx, dt, x);
    y = fma(vy, dt, y);
    z = fma(vz, dt, z);
    __syncthreads();
  }
  pos_out[t] = x;
  pos_out[bodies + t] = y;
  pos_out[2 * bodies + t] = z;
  vel_out[t] = vx;
  vel_out[bodies + t] = vy;
  vel_out[2 * bodies + t] = vz;
}
