// A template kernel over dynamic shared memory: two arrays of run-time length in one allocation, three
// element types. Reverses each CTA's elements and adds to each the one that a rotation puts there.
template <typename T>
__global__ void reverse_rotate(const T* in, T* out, unsigned rotation) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* reversed = (T*)memory;
  T* rotated = reversed + blockDim.x;
  unsigned t = threadIdx.x, n = blockDim.x, base = blockIdx.x * n;
  reversed[n - 1 - t] = in[base + t];
  rotated[(t + rotation) % n] = in[base + t];
  __syncthreads();
  out[base + t] = reversed[t] + rotated[t];
}

template __global__ void reverse_rotate(const unsigned char*, unsigned char*, unsigned);
template __global__ void reverse_rotate(const float*, float*, unsigned);
template __global__ void reverse_rotate(const double*, double*, unsigned);
