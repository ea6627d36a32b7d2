// Named barriers, as warp-specialized kernels use them: one producer warp fills two buffers in turn and two
// consumer warps empty them; bar.arrive on one side and bar.sync on the other, 96 threads each, four
// barriers.
__device__ void barrier_sync(int id) {
  asm volatile("bar.sync %0, 96;" ::"r"(id) : "memory");
}
__device__ void barrier_arrive(int id) {
  asm volatile("bar.arrive %0, 96;" ::"r"(id) : "memory");
}

// Barriers 1 and 2: buffer 0 and 1 is full. Barriers 3 and 4: buffer 0 and 1 is empty again.
extern "C" __global__ void named_barriers(const unsigned* in, unsigned* out, unsigned rounds) {
  __shared__ unsigned buffer[2][32];
  unsigned t = threadIdx.x, warp = t / 32, lane = t % 32;
  if (warp == 0) {
    for (unsigned r = 0; r < rounds; ++r) {
      if (r >= 2)
        barrier_sync(3 + r % 2);
      buffer[r % 2][lane] = in[r * 32 + lane] * (r + 1);
      barrier_arrive(1 + r % 2);
    }
  } else {
    unsigned sum = warp;
    for (unsigned r = 0; r < rounds; ++r) {
      barrier_sync(1 + r % 2);
      sum = sum * 31 + buffer[r % 2][warp == 1 ? lane : 31 - lane];
      if (r + 2 < rounds)
        barrier_arrive(3 + r % 2);
    }
    out[t - 32] = sum;
  }
}
