// Relocatable code of two files: this, and called.cu.
extern __device__ float twice(float x);
extern "C" __global__ void doubles(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
