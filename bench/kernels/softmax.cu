// Softmax of each row of a matrix, a CTA a row: the greatest number, the sum of exponentials, the quotients; sums over a
// warp by shuffles, over warps through shared memory.
#include <math_constants.h>

__device__ float reduce_max(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value = fmaxf(value, __shfl_xor_sync(0xffffffff, value, offset));
  return value;
}

__device__ float reduce_sum(float value) {
  for (int offset = 16; offset > 0; offset /= 2)
    value += __shfl_xor_sync(0xffffffff, value, offset);
  return value;
}

extern "C" __global__ void softmax(const float* in, float* out, int columns) {
  __shared__ float partial[32];
  const float* row = in + blockIdx.x * columns;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;

  float greatest = -CUDART_INF_F;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    greatest = fmaxf(greatest, row[i]);
  greatest = reduce_max(greatest);
  if (lane == 0)
    partial[warp] = greatest;
  __syncthreads();
  greatest = reduce_max(lane < warps ? partial[lane] : -CUDART_INF_F);
  __syncthreads();

  float sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    sum += __expf(row[i] - greatest);
  sum = reduce_sum(sum);
  if (lane == 0)
    partial[warp] = sum;
  __syncthreads();
  sum = reduce_sum(lane < warps ? partial[lane] : 0);

  const float scale = 1 / sum;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    out[blockIdx.x * columns + i] = __expf(row[i] - greatest) * scale;
}
