// What the programs of this folder launch. compile.sh makes kernels.ptx of it.
#include <cooperative_groups.h>

#include <cassert>
#include <cstdint>
#include <cstdio>

struct Big {
  char tag;
  double factor;
  int values[3];
};

__device__ int counter = 7;
__constant__ int table[4] = {1, 2, 3, 4};
__managed__ int managed = 5;

extern "C" {

// out[i] = i, over the whole grid
__global__ void indices(int* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = i;
}

// x[i] += a
__global__ void add(int* x, int a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += a;
}

// y[i] = 2 * x[i]
__global__ void twice(int* y, const int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = 2 * x[i];
}

__global__ void mixed(char a, short b, int64_t c, double d, Big big, int* out) {
  out[0] = a;
  out[1] = b;
  out[2] = static_cast<int>(c);
  out[3] = static_cast<int>(d);
  out[4] = big.tag;
  out[5] = static_cast<int>(big.factor);
  out[6] = big.values[2];
}

__global__ void nothing() {}

__global__ void __launch_bounds__(128) bounded(int* out) {
  out[threadIdx.x] = blockDim.x;
}

// out[i] = in[n - 1 - i], through dynamic shared memory
__global__ void reverse(int* x) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  x[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void statically_shared(int* out) {
  __shared__ int tile[256];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x ^ 1];
}

__global__ void variables(int* out) {
  out[0] = counter;
  out[1] = table[3];
  out[2] = managed;
  counter += 1;
  managed += 1;
}

__global__ void count(int* total) {
  atomicAdd(total, 1);
}

// Every block writes, all wait, the first sums what the others have written.
__global__ void grid_sum(int* partial, int* sum) {
  if (threadIdx.x == 0)
    partial[blockIdx.x] = blockIdx.x + 1;
  cooperative_groups::this_grid().sync();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    int all = 0;
    for (unsigned i = 0; i < gridDim.x; ++i)
      all += partial[i];
    *sum = all;
  }
}

__global__ void cluster_ranks(int* out) {
  const auto cluster = cooperative_groups::this_cluster();
  out[2 * blockIdx.x] = cluster.block_rank();
  out[2 * blockIdx.x + 1] = cluster.num_blocks();
}

__global__ void __cluster_dims__(2, 1, 1) declared_cluster(int* out) {
  out[blockIdx.x] = cooperative_groups::this_cluster().block_rank();
}

// Waits until *from is not 0, then *to is one more.
__global__ void relay(int* from, int* to) {
  int value = 0;
  while ((value = *static_cast<volatile int*>(from)) == 0)
    ;
  __threadfence_system();
  *static_cast<volatile int*>(to) = value + 1;
}

__global__ void out_of_bounds(int* x) {
  x[1 << 22] = 1;
}
__global__ void misaligned(char* x) {
  *reinterpret_cast<int*>(x + 1) = 1;
}
__global__ void trap() {
  __trap();
}
__global__ void asserts(int* x) {
  assert(x[threadIdx.x] == 0);
}

__global__ void prints(int value) {
  printf("thread %d says %d, %s\n", threadIdx.x, value, "hello");
}

// A block of the heap each thread, kept for another kernel.
__global__ void mallocs(int** kept) {
  int* mine = static_cast<int*>(malloc(4 * sizeof(int)));
  if (mine)
    mine[3] = 100 + threadIdx.x;
  kept[threadIdx.x] = mine;
}
__global__ void frees(int** kept, int* out) {
  out[threadIdx.x] = kept[threadIdx.x] ? kept[threadIdx.x][3] : -1;
  free(kept[threadIdx.x]);
}

}

// The box of a tensor map that begins at (x, y), to out.
struct alignas(64) TensorMap {
  char bytes[128];
};

extern "C" __global__ void copy_tile(const __grid_constant__ TensorMap map, int x, int y, int count, int* out) {
  __shared__ alignas(128) int box[256];
  __shared__ alignas(8) uint64_t barrier;
  const auto box_at = static_cast<uint32_t>(__cvta_generic_to_shared(box));
  const auto barrier_at = static_cast<uint32_t>(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(barrier_at) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier_at),
                 "r"(count * static_cast<int>(sizeof(int)))
                 : "memory");
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::
                     "r"(box_at),
                 "l"(&map), "r"(x), "r"(y), "r"(barrier_at)
                 : "memory");
  }
  __syncthreads();
  uint32_t done = 0;
  while (!done)
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0; selp.u32 %0, 1, 0, p; }"
                 : "=r"(done)
                 : "r"(barrier_at)
                 : "memory");
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    out[i] = box[i];
}
