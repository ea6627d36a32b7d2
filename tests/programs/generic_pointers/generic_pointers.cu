// One function reads and writes through generic addresses that point to global, shared, local and constant
// memory and to the parameters, the lanes of a warp not all to the same space; the state-space predicates
// tell which.
__constant__ int table[8] = {5, 4, 3, 2, 1, 0, -1, -2};
__device__ int device_array[8] = {10, 20, 30, 40, 50, 60, 70, 80};

struct Parameters {
  int v[8];
};

__device__ __noinline__ int sum_of(const int* p, unsigned t) {
  return p[t % 8] * 2 + p[(t + 3) % 8];
}
__device__ __noinline__ void bump(int* p, unsigned t) {
  *p += (int)t;
}

extern "C" __global__ void generic_pointers(const int* in, int* out, int* spaces,
                                            const Parameters parameters) {
  __shared__ int shared_array[128];
  unsigned t = threadIdx.x;
  int local_array[8];
  for (int k = 0; k < 8; ++k)
    local_array[k] = in[t] + k * k;
  shared_array[t] = in[t] * 3;
  __syncthreads();
  const int* p;
  switch (t % 4) {
  case 0:
    p = in + t / 8 * 8;
    break;
  case 1:
    p = shared_array + t / 8 * 8;
    break;
  case 2:
    p = local_array;
    break;
  default:
    p = device_array;
    break;
  }
  int x = sum_of(p, t);
  spaces[t] = __isGlobal(p) << 0 | __isShared(p) << 1 | __isLocal(p) << 2 | __isConstant(table + t % 8) << 3;
  x += table[t % 8] * 100 + parameters.v[(t + x) & 7] * 1000;
  __syncthreads();
  bump(t % 2 ? &shared_array[t] : &local_array[t % 8], t);
  __syncthreads();
  out[t] = x + shared_array[t ^ 1] * 7 + local_array[t % 8];
}
