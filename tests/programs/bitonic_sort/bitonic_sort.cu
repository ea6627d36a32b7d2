// Sorts 1024 s32 keys a CTA in place: bitonic network in shared memory, 512 threads, one compare-exchange
// each a step.
extern "C" __global__ void bitonic_sort(int* keys) {
  __shared__ int s[1024];
  unsigned t = threadIdx.x;
  int* block = keys + blockIdx.x * 1024;
  s[t] = block[t];
  s[t + 512] = block[t + 512];
  for (unsigned size = 2; size <= 1024; size *= 2)
    for (unsigned stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      unsigned i = 2 * t - (t & (stride - 1)), j = i + stride;
      bool up = (i & size) == 0;
      int x = s[i], y = s[j];
      if ((x > y) == up) {
        s[i] = y;
        s[j] = x;
      }
    }
  __syncthreads();
  block[t] = s[t];
  block[t + 512] = s[t + 512];
}
