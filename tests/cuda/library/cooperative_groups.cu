// Cooperative groups: the grid's barrier, tiles, reductions, scans, asynchronous copies, clusters.
#include "../check.h"

#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

#include <numeric>

namespace cg = cooperative_groups;

constexpr int kThreads = 128;

__global__ void grid_rounds(int* values, int count) {
  const cg::grid_group grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  for (int round = 0; round < 3; ++round) {
    const int next = values[(i + 1) % count];
    grid.sync();
    values[i] += next;
    grid.sync();
  }
}

__global__ void grid_arrive_wait(const int* in, int* out, int count) {
  const cg::grid_group grid = cg::this_grid();
  const int i = static_cast<int>(grid.thread_rank());
  out[i] = in[i];
  auto token = grid.barrier_arrive();
  const int own = in[i] * 2;
  grid.barrier_wait(std::move(token));
  out[count + i] = own + out[(i + kThreads) % count];
}

template <int kSize>
__device__ int tile_sum(const int* in) {
  const auto tile = cg::tiled_partition<kSize>(cg::this_thread_block());
  return cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
}
__global__ void reduce_tile_8(const int* in, int* out) {
  out[threadIdx.x] = tile_sum<8>(in);
}
__global__ void reduce_tile_32(const int* in, int* out) {
  out[threadIdx.x] = tile_sum<32>(in);
}
// Of two warps: by shared memory.
__global__ void reduce_tile_64(const int* in, int* out) {
  __shared__ cg::block_tile_memory<kThreads> memory;
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
  out[threadIdx.x] = cg::reduce(tile, in[threadIdx.x], cg::plus<int>());
}
__global__ void scan_tile_64(const int* in, int* out) {
  __shared__ cg::block_tile_memory<kThreads> memory;
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
  out[threadIdx.x] = cg::inclusive_scan(tile, in[threadIdx.x]);
}
// Whose operation is no instruction.
struct Larger {
  __device__ long long operator()(long long a, long long b) const { return a < b ? b : a; }
};
__global__ void reduce_coalesced(const int* in, int* out) {
  out[threadIdx.x] = 0;
  if (threadIdx.x % 3 == 0) {
    const cg::coalesced_group group = cg::coalesced_threads();
    out[threadIdx.x] = static_cast<int>(cg::reduce(group, static_cast<long long>(in[threadIdx.x]), Larger{}));
  }
}
__global__ void reduce_partitions(const int* in, int* out) {
  const auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  const auto same = cg::labeled_partition(warp, in[threadIdx.x] % 3);
  const auto side = cg::binary_partition(warp, in[threadIdx.x] % 2 == 0);
  out[threadIdx.x] = cg::reduce(same, 1, cg::plus<int>()) * 1000 + cg::reduce(side, 1, cg::plus<int>());
}
__global__ void reduce_async(const int* in, int* out) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> sum;
  const cg::thread_block block = cg::this_thread_block();
  cg::invoke_one(block, [&] { sum.store(0, cuda::memory_order_relaxed); });
  block.sync();
  cg::reduce_update_async(cg::tiled_partition<32>(block), sum, in[threadIdx.x], cg::plus<int>());
  block.sync();
  out[threadIdx.x] = sum.load(cuda::memory_order_relaxed);
}
__global__ void scans(const int* in, int* out) {
  const auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  out[threadIdx.x] = cg::exclusive_scan(tile, in[threadIdx.x]) + cg::inclusive_scan(tile, in[threadIdx.x]);
}

// The next rows are on their way while these are summed.
__global__ void copies_staged(const int* in, int* out, int rounds) {
  __shared__ alignas(16) int rows[2][kThreads];
  const cg::thread_block block = cg::this_thread_block();
  cg::memcpy_async(block, rows[0], in, sizeof rows[0]);
  int sum = 0;
  for (int round = 0; round < rounds; ++round) {
    if (round + 1 < rounds) {
      cg::memcpy_async(block, rows[(round + 1) % 2], in + (round + 1) * kThreads, sizeof rows[0]);
      cg::wait_prior<1>(block);
    } else {
      cg::wait(block);
    }
    sum += rows[round % 2][kThreads - 1 - threadIdx.x];
    block.sync();
  }
  out[threadIdx.x] = sum;
}

__global__ void __cluster_dims__(2, 1, 1) cluster_exchange(const int* in, int* out) {
  __shared__ int values[kThreads];
  const cg::cluster_group cluster = cg::this_cluster();
  values[threadIdx.x] = in[cluster.thread_rank()];
  cluster.sync();
  const int* other = cluster.map_shared_rank(values, cluster.block_rank() ^ 1);
  out[cluster.thread_rank()] = other[threadIdx.x];
  cluster.sync();
}

int main() {
  const int count = 4 * kThreads;
  auto values = small_numbers<int>(count, 0, 99);
  DeviceArray<int> in(values), out(2 * count);
  const auto run = [&](void (*kernel)(const int*, int*)) {
    kernel<<<1, kThreads>>>(in.data(), out.data());
    ok(cudaDeviceSynchronize());
    return out.host();
  };
  int* data = in.data();
  int size = count;
  void* rounds[] = {&data, &size};
  ok(cudaLaunchCooperativeKernel(grid_rounds, dim3(4), dim3(kThreads), rounds));
  for (int round = 0; round < 3; ++round) {
    const auto before = values;
    for (int i = 0; i < count; ++i)
      values[i] += before[(i + 1) % count];
  }
  equal(values, in.host());
  int* to = out.data();
  void* arrive[] = {&data, &to, &size};
  ok(cudaLaunchCooperativeKernel(grid_arrive_wait, dim3(4), dim3(kThreads), arrive));
  equal(values[5] * 2 + values[5 + kThreads], out.host()[count + 5]);

  const auto sum = [&](int begin, int end) {
    return std::accumulate(values.begin() + begin, values.begin() + end, 0);
  };
  equal(sum(8, 16), run(reduce_tile_8)[9]);
  equal(sum(32, 64), run(reduce_tile_32)[40]);
  equal(sum(64, 128), run(reduce_tile_64)[70]);
  equal(sum(64, 71), run(scan_tile_64)[70]);
  int largest = 0;
  for (int i = 0; i < 32; i += 3)
    largest = std::max(largest, values[i]);
  equal(largest, run(reduce_coalesced)[3]);
  int same = 0, side = 0;
  for (int i = 0; i < 32; ++i) {
    same += values[i] % 3 == values[0] % 3;
    side += values[i] % 2 == values[0] % 2;
  }
  equal(same * 1000 + side, run(reduce_partitions)[0]);
  equal(sum(0, kThreads), run(reduce_async)[17]);
  equal(sum(16, 20) * 2 + values[20], run(scans)[20]);
  copies_staged<<<1, kThreads>>>(in.data(), out.data(), 4);
  equal(values[127] + values[255] + values[383] + values[511], out.host()[0]);
  cluster_exchange<<<2, kThreads>>>(in.data(), out.data());
  equal(values[kThreads + 3], out.host()[3]);
  return result();
}
