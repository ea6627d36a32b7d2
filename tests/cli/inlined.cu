// Kernels whose defects lie in inlined code: in CUDA's headers, by way of inlined.cuh. Compiled by compile.sh.
#include "inlined.cuh"

// The last thread reads what is after `in`.
__global__ void shift(const __half2* in, __half2* out)
{
  out[threadIdx.x] = after(in, threadIdx.x);
}

// All CTAs write the same.
__global__ void publish_all(__half2* out)
{
  Publisher{out}.publish(__float2half2_rn(static_cast<float>(blockIdx.x)));
}
