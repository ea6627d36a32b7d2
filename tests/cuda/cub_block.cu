// CUB within a block and a warp: loads, scans, reductions, a radix sort, an exchange.
#include "check.h"

#include <cub/block/block_exchange.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/warp/warp_reduce.cuh>

#include <algorithm>

constexpr int kThreads = 128, kItems = 4;

__global__ void sort_and_scan(const int* in, int* sorted, int* prefix, int* total, int* of_warps) {
  using Load = cub::BlockLoad<int, kThreads, kItems, cub::BLOCK_LOAD_TRANSPOSE>;
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  using Scan = cub::BlockScan<int, kThreads>;
  using Reduce = cub::BlockReduce<int, kThreads>;
  using Warp = cub::WarpReduce<int>;
  __shared__ union {
    Load::TempStorage load;
    Sort::TempStorage sort;
    Scan::TempStorage scan;
    Reduce::TempStorage reduce;
    Warp::TempStorage warp[kThreads / 32];
  } memory;
  int items[kItems], sums[kItems];
  Load(memory.load).Load(in, items);
  __syncthreads();
  Scan(memory.scan).ExclusiveSum(items, sums);
  __syncthreads();
  const int sum = Reduce(memory.reduce).Sum(items);
  if (threadIdx.x == 0)
    *total = sum;
  __syncthreads();
  const int greatest = Warp(memory.warp[threadIdx.x / 32]).Reduce(items[0], cuda::maximum<>{});
  if (threadIdx.x % 32 == 0)
    of_warps[threadIdx.x / 32] = greatest;
  __syncthreads();
  Sort(memory.sort).Sort(items);
  for (int i = 0; i < kItems; ++i) {
    sorted[threadIdx.x * kItems + i] = items[i];
    prefix[threadIdx.x * kItems + i] = sums[i];
  }
}

int main() {
  const int count = kThreads * kItems;
  auto values = small_numbers<int>(count, -100000, 100000);
  DeviceArray<int> in(values), sorted(count), prefix(count), total(1), of_warps(4);
  sort_and_scan<<<1, kThreads>>>(in.data(), sorted.data(), prefix.data(), total.data(), of_warps.data());
  ok(cudaGetLastError());
  std::vector<int> wanted(count), greatest(4, -1000000);
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    wanted[i] = sum;
    sum += values[i];
    if (i % kItems == 0)
      greatest[i / kItems / 32] = std::max(greatest[i / kItems / 32], values[i]);
  }
  equal(wanted, prefix.host());
  equal(sum, total.host()[0]);
  equal(greatest, of_warps.host());
  std::sort(values.begin(), values.end());
  equal(values, sorted.host());
  return result();
}
