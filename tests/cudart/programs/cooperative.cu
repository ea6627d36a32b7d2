// Cooperative groups: a barrier of the grid, tiles, reductions, a cluster with distributed shared memory.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include <cstdio>

namespace cg = cooperative_groups;

__global__ void grid_sum(const int* x, int n, int* partial, int* sum) {
  const auto grid = cg::this_grid();
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  int mine = 0;
  for (int i = grid.thread_rank(); i < n; i += grid.size())
    mine += x[i];
  mine = cg::reduce(tile, mine, cg::plus<int>());
  if (tile.thread_rank() == 0)
    atomicAdd(&partial[blockIdx.x], mine);
  grid.sync();
  if (grid.thread_rank() == 0)
    for (unsigned i = 0; i < gridDim.x; ++i)
      *sum += partial[i];
  grid.sync();
  if (grid.thread_rank() == grid.size() - 1)
    *sum *= 2;
}

__global__ void __cluster_dims__(4, 1, 1) neighbours(int* out) {
  __shared__ int mine;
  const auto cluster = cg::this_cluster();
  if (threadIdx.x == 0)
    mine = 10 * blockIdx.x;
  cluster.sync();
  if (threadIdx.x == 0)
    out[blockIdx.x] = *cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % cluster.num_blocks());
  cluster.sync();
}

int main() {
  const int n = 10000, blocks = 8;
  int *x = nullptr, *partial = nullptr, *sum = nullptr;
  cudaMallocManaged(&x, n * sizeof(int));
  cudaMallocManaged(&partial, blocks * sizeof(int));
  cudaMallocManaged(&sum, sizeof(int));
  for (int i = 0; i < n; ++i)
    x[i] = i % 10;
  for (int i = 0; i < blocks; ++i)
    partial[i] = 0;
  *sum = 0;
  void* arguments[] = {&x, const_cast<int*>(&n), &partial, &sum};
  if (cudaLaunchCooperativeKernel(grid_sum, dim3(blocks), dim3(128), arguments, 0, nullptr) != cudaSuccess)
    return std::puts("the cooperative launch fails"), 1;
  if (cudaDeviceSynchronize() != cudaSuccess || *sum != 90000)
    return std::printf("the sum is %d\n", *sum), 1;
  neighbours<<<8, 32>>>(partial);
  if (cudaDeviceSynchronize() != cudaSuccess)
    return std::puts("the cluster fails"), 1;
  for (int i = 0; i < blocks; ++i)
    if (partial[i] != 10 * (i / 4 * 4 + (i + 1) % 4))
      return std::printf("neighbour %d is %d\n", i, partial[i]), 1;
  std::puts("ok");
}
