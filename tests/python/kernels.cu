// Kernels for the tests of the Python package: module variables, a struct with tensor maps and a pointer, tensor maps in
// memory, parameters of every kind, and mistakes. Compiled by compile.sh.
#include <cuda.h>
#include <cuda_fp16.h>
#include <cuda/barrier>
#include <cuda/ptx>

#include <cstdint>

__device__ unsigned counter = 5;
__device__ float table[4] = {1, 2, 3, 4};
__constant__ float factors[4] = {1, 1, 1, 1};

struct Pair {
  int first, second;
};

// y = alpha * x + y, for n elements: the types of a BLAS.
__global__ void axpy(float alpha, const float* x, float* y, unsigned n) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = alpha * x[i] + y[i];
}

// Without the test for the end.
__global__ void axpy_all(float alpha, const float* x, float* y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  y[i] = alpha * x[i] + y[i];
}

__global__ void every_type(int8_t a, uint16_t b, int c, int64_t d, double e, __half f, bool g, Pair h, double* out) {
  out[0] = a;
  out[1] = b;
  out[2] = c;
  out[3] = static_cast<double>(d);
  out[4] = e;
  out[5] = __half2float(f);
  out[6] = g;
  out[7] = h.first;
  out[8] = h.second;
}

__global__ void use_variables(float* out) {
  if (threadIdx.x == 0)
    out[4] = static_cast<float>(atomicAdd(&counter, 1u));
  out[threadIdx.x] = table[threadIdx.x] * factors[threadIdx.x];
}

struct Copies {
  CUtensorMap from, to;
  int* done;
  int columns;
};

// A tile of 32 x 32 floats, from one map's array to the other's, and its sum.
__device__ void copy_tile(const CUtensorMap* from, const CUtensorMap* to, int x, int y) {
  alignas(128) __shared__ float tile[32 * 32];
  __shared__ uint64_t arrived;
  namespace ptx = cuda::ptx;
  if (threadIdx.x == 0) {
    ptx::mbarrier_init(&arrived, 1);
    ptx::fence_mbarrier_init(ptx::sem_release, ptx::scope_cluster);
    const int32_t at[] = {x, y};
    ptx::cp_async_bulk_tensor(ptx::space_cluster, ptx::space_global, tile, from, at, &arrived);
    ptx::mbarrier_arrive_expect_tx(ptx::sem_release, ptx::scope_cta, ptx::space_shared, &arrived, sizeof tile);
    while (!ptx::mbarrier_try_wait_parity(&arrived, 0)) {
    }
    ptx::cp_async_bulk_tensor(ptx::space_global, ptx::space_shared, to, at, tile);
    ptx::cp_async_bulk_commit_group();
    ptx::cp_async_bulk_wait_group(ptx::n32_t<0>{});
  }
}

__global__ void copy_by_struct(const __grid_constant__ Copies copies) {
  copy_tile(&copies.from, &copies.to, 32 * blockIdx.x, 32 * blockIdx.y);
  if (threadIdx.x == 0)
    copies.done[blockIdx.y * copies.columns + blockIdx.x] = 1;
}

__global__ void copy_by_memory(const CUtensorMap* from, const CUtensorMap* to) {
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(from) : "memory");
  asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(to) : "memory");
  copy_tile(from, to, 32 * blockIdx.x, 32 * blockIdx.y);
}

// Two warps write one variable, and nothing orders them: a race.
__global__ void race(int* out) {
  __shared__ int value;
  if (threadIdx.x % 32 == 0)
    value = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0)
    *out = value;
}

// The last writer wins: another schedule, another result, and no access that is not ordered within its CTA.
__global__ void last_wins(int* out) { atomicExch(out, static_cast<int>(blockIdx.x)); }

__global__ void forever(volatile int* flag) {
  while (*flag == 0)
    *(flag + 1) += 1;
}

__device__ void say(int value) { printf("value %d\n", value); }
__global__ void print_value(int value) { say(value); }

namespace nested {
template <class T>
__global__ void fill(T* out, T value) {
  out[threadIdx.x] = value;
}
template __global__ void fill<float>(float*, float);
template __global__ void fill<int>(int*, int);
} // namespace nested
