// One half of a program of relocatable code; the other is linked_helper.cu.
extern __device__ int helper_calls;
__device__ int helper(int x);

extern "C" __global__ void calls_helper(int* out) {
  out[threadIdx.x] = helper(threadIdx.x);
  if (threadIdx.x == 0)
    out[blockDim.x] = helper_calls;
}
