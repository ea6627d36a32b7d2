// One f32 sum a CTA: each thread adds with a grid stride, then a tree halves the active threads in shared
// memory.
extern "C" __global__ void reduce_tree(const float* in, float* out, unsigned n) {
  __shared__ float part[256];
  unsigned t = threadIdx.x;
  float sum = 0;
  for (unsigned i = blockIdx.x * 256 + t; i < n; i += gridDim.x * 256)
    sum += in[i];
  part[t] = sum;
  __syncthreads();
  for (unsigned stride = 128; stride > 0; stride /= 2) {
    if (t < stride)
      part[t] += part[t + stride];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = part[0];
}
