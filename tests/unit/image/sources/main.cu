// A host's file with two modules: this, and other.cu.
static __device__ float helper(float x) { return x + 1; }
extern "C" __global__ void first(float* x) { x[threadIdx.x] = helper(x[threadIdx.x]); }
