// libcu++: a barrier with asynchronous copies, a pipeline, atomics in memory that the host sees.
#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/pipeline>

#include <cooperative_groups.h>

#include <cstdio>

__global__ void with_barrier(const int* x, int* y) {
  __shared__ int tile[128];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> barrier;
  if (threadIdx.x == 0)
    init(&barrier, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&tile[threadIdx.x], &x[blockIdx.x * 128 + threadIdx.x], sizeof(int), barrier);
  barrier.arrive_and_wait();
  y[blockIdx.x * 128 + threadIdx.x] = tile[127 - threadIdx.x];
}

__global__ void with_pipeline(const int* x, int* y, int batches) {
  __shared__ int tiles[2][64];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
  const auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  int sum = 0;
  for (int compute = 0, fetch = 0; compute < batches; ++compute) {
    for (; fetch < batches && fetch < compute + 2; ++fetch) {
      pipeline.producer_acquire();
      cuda::memcpy_async(block, tiles[fetch % 2], x + 64 * fetch, sizeof(int) * 64, pipeline);
      pipeline.producer_commit();
    }
    pipeline.consumer_wait();
    sum += tiles[compute % 2][threadIdx.x];
    pipeline.consumer_release();
  }
  y[threadIdx.x] = sum;
}

__global__ void count(int* total) {
  cuda::atomic_ref<int, cuda::thread_scope_system>(*total).fetch_add(1, cuda::std::memory_order_relaxed);
}

int main() {
  int *x = nullptr, *y = nullptr;
  cudaMallocManaged(&x, 1024 * sizeof(int));
  cudaMallocManaged(&y, 1024 * sizeof(int));
  for (int i = 0; i < 1024; ++i)
    x[i] = i;
  with_barrier<<<8, 128>>>(x, y);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return std::puts("with_barrier fails"), 1;
  for (int i = 0; i < 1024; ++i)
    if (y[i] != i / 128 * 128 + 127 - i % 128)
      return std::printf("with_barrier: %d is %d\n", i, y[i]), 1;
  with_pipeline<<<1, 64>>>(x, y, 16);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return std::puts("with_pipeline fails"), 1;
  for (int i = 0; i < 64; ++i)
    if (y[i] != 16 * i + 64 * 120)
      return std::printf("with_pipeline: %d is %d\n", i, y[i]), 1;
  y[0] = 0;
  count<<<4, 64>>>(y);
  if (cudaDeviceSynchronize() != cudaSuccess || y[0] != 256)
    return std::puts("count is wrong"), 1;
  std::puts("ok");
}
