__device__ float thrice(float x) { return 3 * x; }
