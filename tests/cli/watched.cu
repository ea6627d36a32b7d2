__global__ void branches(unsigned* out) {
  unsigned t = threadIdx.x;
  if (t < 100) {
    out[t] = t;
  } else {
    out[0] = t;
  }
}
