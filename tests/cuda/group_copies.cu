// cooperative_groups::memcpy_async, and tiles of more than a warp.
#include "check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__global__ void sum_parts(const int* in, int* out, int count) {
  __shared__ int part[256];
  const cg::thread_block block = cg::this_thread_block();
  int sum = 0;
  for (int begin = 0; begin < count; begin += 256) {
    const int size = min(256, count - begin);
    cg::memcpy_async(block, part, in + begin, sizeof(int) * size);
    cg::wait(block);
    for (int i = block.thread_rank(); i < size; i += block.size())
      sum += part[i];
    block.sync();
  }
  __shared__ cg::block_tile_memory<128> memory;
  const auto tiled = cg::this_thread_block(memory);
  const auto half = cg::tiled_partition<64>(tiled);
  const int total = cg::reduce(half, sum, cg::plus<int>());
  if (half.thread_rank() == 0)
    out[half.meta_group_rank()] = total;
}

int main() {
  const int count = 5 * 256 + 100;
  const auto values = small_numbers<int>(count, -100, 100);
  DeviceArray<int> in(values), out(2);
  sum_parts<<<1, 128>>>(in.data(), out.data(), count);
  ok(cudaGetLastError());
  int wanted[2] = {};
  for (int i = 0; i < count; ++i)
    wanted[i % 256 % 128 / 64] += values[i];
  const auto got = out.host();
  equal(wanted[0], got[0]);
  equal(wanted[1], got[1]);
  return result();
}
