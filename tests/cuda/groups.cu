// Cooperative groups of a block: tiles, coalesced threads, partitions by label, reductions and scans.
#include "check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

__global__ void use_groups(int* out) {
  const cg::thread_block block = cg::this_thread_block();
  const int t = block.thread_rank();
  int* o = out + t * 8;
  const auto warp = cg::tiled_partition<32>(block);
  const auto four = cg::tiled_partition<4>(warp);
  o[0] = cg::reduce(four, t, cg::plus<int>());
  o[1] = warp.shfl_xor(t, 9) + four.meta_group_rank();
  o[2] = cg::exclusive_scan(warp, t % 5, cg::plus<int>());
  o[3] = cg::reduce(warp, t * 7 % 32, cg::greater<int>());
  const auto odd = cg::binary_partition(warp, t % 2 == 1);
  o[4] = odd.size() * 100 + odd.thread_rank();
  const auto label = cg::labeled_partition(warp, t % 3);
  o[5] = cg::reduce(label, 1, cg::plus<int>());
  if (t % 4 == 1) {
    const auto active = cg::coalesced_threads();
    o[6] = active.size() * 100 + active.thread_rank();
  }
  o[7] = block.num_threads() + static_cast<int>(block.group_index().x) * 1000;
  block.sync();
}

int main() {
  const int threads = 64;
  DeviceArray<int> out(2 * threads * 8);
  use_groups<<<1, threads>>>(out.data());
  ok(cudaGetLastError());
  const auto got = out.host();
  for (int t = 0; t < threads; ++t) {
    const int lane = t % 32, *o = &got[t * 8];
    equal(t / 4 * 16 + 6, o[0]);
    equal((t ^ 9) + lane / 4, o[1]);
    int before = 0, label = 0;
    for (int i = t - lane; i < t - lane + 32; ++i) {
      before += i < t ? i % 5 : 0;
      label += i % 3 == t % 3;
    }
    equal(before, o[2]);
    equal(31, o[3]);
    equal(1600 + lane / 2, o[4]);
    equal(label, o[5]);
    equal(t % 4 == 1 ? 800 + lane / 4 : 0, o[6]);
    equal(threads, o[7]);
  }
  return result();
}
