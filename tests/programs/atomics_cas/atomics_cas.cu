// Spin locks by compare-and-swap around an update that is not atomic. `grid_lock`: one thread of each CTA.
// `lane_lock`: all lanes of all warps for one lock, so lanes that spin must not starve the lane that holds it
// (independent thread scheduling). `float_max`: an f32 maximum by a compare-and-swap loop.
struct Shared {
  unsigned lock, count;
  unsigned long long sum;
};

__device__ void locked_update(volatile Shared* s, unsigned value) {
  while (atomicCAS((unsigned*)&s->lock, 0u, 1u) != 0u) {
  }
  __threadfence();
  s->count = s->count + 1;
  s->sum = s->sum + (unsigned long long)value * value;
  __threadfence();
  atomicExch((unsigned*)&s->lock, 0u);
}

extern "C" __global__ void grid_lock(Shared* s, unsigned rounds) {
  if (threadIdx.x == 0)
    for (unsigned round = 0; round < rounds; ++round)
      locked_update(s, blockIdx.x * 1000 + round);
}

extern "C" __global__ void lane_lock(Shared* s) {
  locked_update(s, blockIdx.x * blockDim.x + threadIdx.x + 70000);
}

extern "C" __global__ void float_max(const float* in, unsigned* max_bits) {
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  unsigned seen = *(volatile unsigned*)max_bits;
  while (v > __uint_as_float(seen)) {
    unsigned now = atomicCAS(max_bits, seen, __float_as_uint(v));
    if (now == seen)
      break;
    seen = now;
  }
}
