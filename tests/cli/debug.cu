// A kernel whose parameters have names in the debug information of nvcc -G. Compiled by compile.sh.
template <int N>
__global__ void scale(float* data, float factor, unsigned count)
{
  if (threadIdx.x < count)
    data[threadIdx.x] *= factor * N;
}

template __global__ void scale<2>(float*, float, unsigned);
