// Layer normalization of each row of a matrix, a CTA a row, four numbers a load: mean and variance in one pass.
__device__ float2 reduce_sums(float2 value) {
  for (int offset = 16; offset > 0; offset /= 2) {
    value.x += __shfl_xor_sync(0xffffffff, value.x, offset);
    value.y += __shfl_xor_sync(0xffffffff, value.y, offset);
  }
  return value;
}

extern "C" __global__ void layer_norm(const float4* in, const float4* weight, const float4* bias, float4* out,
                                      int columns, float epsilon) {
  __shared__ float2 partial[32];
  const int quads = columns / 4;
  const float4* row = in + blockIdx.x * quads;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;

  float2 sums = {0, 0};
  for (int i = threadIdx.x; i < quads; i += blockDim.x) {
    const float4 v = row[i];
    sums.x += v.x + v.y + v.z + v.w;
    sums.y += v.x * v.x + v.y * v.y + v.z * v.z + v.w * v.w;
  }
  sums = reduce_sums(sums);
  if (lane == 0)
    partial[warp] = sums;
  __syncthreads();
  sums = reduce_sums(lane < warps ? partial[lane] : float2{0, 0});

  const float mean = sums.x / columns;
  const float scale = rsqrtf(sums.y / columns - mean * mean + epsilon);
  for (int i = threadIdx.x; i < quads; i += blockDim.x) {
    const float4 v = row[i], w = weight[i], b = bias[i];
    out[blockIdx.x * quads + i] = {(v.x - mean) * scale * w.x + b.x, (v.y - mean) * scale * w.y + b.y,
                                   (v.z - mean) * scale * w.z + b.z, (v.w - mean) * scale * w.w + b.w};
  }
}
