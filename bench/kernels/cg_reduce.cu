// Cooperative groups: each thread's sum, reduced over a tile of 32, then over the CTA, then added to the total.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void cg_reduce(const int* in, int* total, int count) {
  __shared__ int partial[32];
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  int sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    sum += in[i];
  sum = cg::reduce(tile, sum, cg::plus<int>());
  if (tile.thread_rank() == 0)
    partial[tile.meta_group_rank()] = sum;
  block.sync();
  if (tile.meta_group_rank() == 0) {
    sum = cg::reduce(tile, tile.thread_rank() < tile.meta_group_size() ? partial[tile.thread_rank()] : 0, cg::plus<int>());
    if (tile.thread_rank() == 0)
      atomicAdd(total, sum);
  }
}
