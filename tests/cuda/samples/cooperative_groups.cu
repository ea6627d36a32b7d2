// Sums in a block and in tiles of 16 of it; threads of a warp parted by a predicate; and the sum of 2^25 numbers by as many
// blocks as can be there at once, which meet at a barrier of the grid, 100 times.
#include "../check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

namespace cg = cooperative_groups;

__device__ int sum_of(const cg::thread_group& group, int* scratch, int value) {
  const unsigned rank = group.thread_rank();
  for (unsigned half = group.size() / 2; half > 0; half /= 2) {
    scratch[rank] = value;
    group.sync();
    if (rank < half)
      value += scratch[rank + half];
    group.sync();
  }
  return value;
}

__global__ void sum_groups(int* out) {
  extern __shared__ int scratch[];
  const cg::thread_block block = cg::this_thread_block();
  const int of_block = sum_of(block, scratch, block.thread_rank());
  if (block.thread_rank() == 0)
    out[0] = of_block;
  block.sync();
  const auto tile = cg::tiled_partition<16>(block);
  const unsigned begin = block.thread_rank() - tile.thread_rank();
  const int of_tile = sum_of(tile, scratch + begin, tile.thread_rank());
  if (tile.thread_rank() == 0)
    out[1 + begin / 16] = of_tile;
}

// Odd and even numbers are summed by those that have them.
__global__ void sum_odd_and_even(const int* in, int* sums, unsigned count) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const bool odd = in[i] & 1;
    const auto alike = cg::binary_partition(tile, odd);
    const int sum = cg::reduce(alike, in[i], cg::plus<int>());
    if (alike.thread_rank() == 0) {
      atomicAdd(&sums[odd], sum);
      atomicAdd(&sums[2 + odd], static_cast<int>(alike.size()));
    }
  }
}

__global__ void sum_grid(const float* in, double* partial, unsigned count) {
  extern __shared__ double of_warps[];
  const cg::grid_group grid = cg::this_grid();
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  double sum = 0;
  for (unsigned long long i = grid.thread_rank(); i < count; i += grid.size())
    sum += in[i];
  sum = cg::reduce(warp, sum, cg::plus<double>());
  if (warp.thread_rank() == 0)
    of_warps[warp.meta_group_rank()] = sum;
  block.sync();
  if (block.thread_rank() == 0) {
    for (unsigned i = 1; i < warp.meta_group_size(); ++i)
      sum += of_warps[i];
    partial[blockIdx.x] = sum;
  }
  grid.sync();
  if (grid.thread_rank() == 0)
    for (unsigned i = 1; i < gridDim.x; ++i)
      partial[0] += partial[i];
}

void odd_and_even() {
  const int count = 1024 * 100;
  const auto values = small_numbers<int>(count, 0, 49);
  DeviceArray<int> in(values), sums(4);
  int blocks = 0, threads = 0;
  ok(cudaOccupancyMaxPotentialBlockSize(&blocks, &threads, sum_odd_and_even));
  sum_odd_and_even<<<blocks, threads>>>(in.data(), sums.data(), count);
  ok(cudaGetLastError());
  std::vector<int> wanted(4, 0);
  for (const int value : values) {
    wanted[value & 1] += value;
    ++wanted[2 + (value & 1)];
  }
  equal(wanted, sums.host());
}

int main() {
  DeviceArray<int> sums(5);
  sum_groups<<<1, 64, 64 * sizeof(int)>>>(sums.data());
  ok(cudaGetLastError());
  equal(std::vector<int>{64 * 63 / 2, 120, 120, 120, 120}, sums.host());
  odd_and_even();

  const unsigned count = 1 << 25;
  const auto values = small_numbers<float>(count, 0, 255);
  double wanted = 0;
  for (const float value : values)
    wanted += value;
  DeviceArray<float> in(values);
  const int threads = 1024;
  int processors = 0, resident = 0;
  ok(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
  ok(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&resident, sum_grid, threads, threads * sizeof(double)));
  const int blocks = processors * resident;
  DeviceArray<double> partial(blocks);
  const float* in_data = in.data();
  double* partial_data = partial.data();
  void* arguments[] = {&in_data, &partial_data, const_cast<unsigned*>(&count)};
  for (int i = 0; i < 100; ++i)
    ok(cudaLaunchCooperativeKernel(sum_grid, blocks, threads, arguments, threads * sizeof(double)));
  equal(wanted, partial.host()[0]);
  return result();
}
