// One f32 sum and one maximum a CTA: shuffles in each warp (down for the sum, a butterfly for the maximum),
// then the first warp over the partial results of the eight warps.
__device__ float warp_sum(float v) {
  for (int offset = 16; offset > 0; offset /= 2)
    v += __shfl_down_sync(0xffffffff, v, offset);
  return v;
}

__device__ float warp_max(float v) {
  for (int mask = 16; mask > 0; mask /= 2)
    v = fmaxf(v, __shfl_xor_sync(0xffffffff, v, mask));
  return v;
}

extern "C" __global__ void reduce_shuffle(const float* in, float* sums, float* maxima) {
  __shared__ float part_sum[8], part_max[8];
  unsigned t = threadIdx.x, lane = t % 32, warp = t / 32;
  float v = in[blockIdx.x * 256 + t];
  float sum = warp_sum(v), max = warp_max(v);
  if (lane == 0) {
    part_sum[warp] = sum;
    part_max[warp] = max;
  }
  __syncthreads();
  if (warp == 0) {
    sum = warp_sum(lane < 8 ? part_sum[lane] : 0.0f);
    max = warp_max(lane < 8 ? part_max[lane] : -__int_as_float(0x7f800000));
    if (lane == 0)
      sums[blockIdx.x] = sum;
    if (lane == 31)
      maxima[blockIdx.x] = max;
  }
}
