// A sum over the whole grid with cooperative groups: a partial sum a CTA, this_grid().sync(), and one CTA adds
// them; then, after a second sync(), every CTA scales its part by the sum.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

extern "C" __global__ void grid_reduce(const unsigned* in, unsigned* partial, unsigned* sum, unsigned* out, unsigned n) {
  __shared__ unsigned of_warp[32];
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  const auto of_block = [&](unsigned value) { // in thread 0
    value = cg::reduce(warp, value, cg::plus<unsigned>());
    if (warp.thread_rank() == 0)
      of_warp[warp.meta_group_rank()] = value;
    block.sync();
    value = warp.meta_group_rank() == 0 && warp.thread_rank() < warp.meta_group_size() ? of_warp[warp.thread_rank()] : 0;
    return cg::reduce(warp, value, cg::plus<unsigned>());
  };
  unsigned value = 0;
  for (unsigned i = grid.thread_rank(); i < n; i += grid.num_threads())
    value += in[i];
  value = of_block(value);
  if (block.thread_rank() == 0)
    partial[grid.block_rank()] = value;
  grid.sync();
  if (grid.block_rank() == 0) {
    value = 0;
    for (unsigned i = block.thread_rank(); i < grid.num_blocks(); i += block.num_threads())
      value += partial[i];
    value = of_block(value);
    if (block.thread_rank() == 0)
      *sum = value;
  }
  grid.sync();
  for (unsigned i = grid.thread_rank(); i < n; i += grid.num_threads())
    out[i] = in[i] * *sum;
}
