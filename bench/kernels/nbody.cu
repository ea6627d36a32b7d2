// Accelerations of n bodies, all pairs, a tile of them at a time in shared memory (GPU Gems 3, chapter 31).
extern "C" __global__ void nbody(const float4* bodies, float4* accelerations, int count, float softening) {
  __shared__ float4 tile[128];
  const int self = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 mine = bodies[self];
  float3 sum = {0, 0, 0};
  for (int first = 0; first < count; first += blockDim.x) {
    tile[threadIdx.x] = bodies[first + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < blockDim.x; ++i) {
      const float4 other = tile[i];
      const float x = other.x - mine.x, y = other.y - mine.y, z = other.z - mine.z;
      const float inverse = rsqrtf(x * x + y * y + z * z + softening);
      const float strength = other.w * inverse * inverse * inverse;
      sum.x += x * strength;
      sum.y += y * strength;
      sum.z += z * strength;
    }
    __syncthreads();
  }
  accelerations[self] = {sum.x, sum.y, sum.z, 0};
}
