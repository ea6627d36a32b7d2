// CUB's primitives of a CTA and of a warp, each in a kernel of its own.
#include "../check.h"

#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>

#include <algorithm>
#include <numeric>

constexpr int kThreads = 128, kItems = 4, kTile = kThreads * kItems;

struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};

template <cub::BlockReduceAlgorithm kAlgorithm>
__device__ void block_reduce(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, kThreads, kAlgorithm>;
  __shared__ typename Reduce::TempStorage storage;
  int items[kItems];
  cub::LoadDirectBlocked(threadIdx.x, in, items);
  const int sum = Reduce(storage).Sum(items);
  if (threadIdx.x == 0)
    out[0] = sum;
}
__global__ void block_reduce_shuffles(const int* in, int* out) {
  block_reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out);
}
__global__ void block_reduce_raking(const int* in, int* out) {
  block_reduce<cub::BLOCK_REDUCE_RAKING>(in, out);
}
__global__ void block_reduce_commutative(const int* in, int* out) {
  block_reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(in, out);
}

template <cub::BlockScanAlgorithm kAlgorithm>
__device__ void block_scan(const int* in, int* out) {
  using Scan = cub::BlockScan<int, kThreads, kAlgorithm>;
  __shared__ typename Scan::TempStorage storage;
  int items[kItems];
  cub::LoadDirectBlocked(threadIdx.x, in, items);
  Scan(storage).InclusiveSum(items, items);
  cub::StoreDirectBlocked(threadIdx.x, out, items);
}
__global__ void block_scan_warps(const int* in, int* out) {
  block_scan<cub::BLOCK_SCAN_WARP_SCANS>(in, out);
}
__global__ void block_scan_raking(const int* in, int* out) {
  block_scan<cub::BLOCK_SCAN_RAKING>(in, out);
}
__global__ void block_scan_memoized(const int* in, int* out) {
  block_scan<cub::BLOCK_SCAN_RAKING_MEMOIZE>(in, out);
}

// The load's and the store's exchanges, in the same shared memory.
template <cub::BlockLoadAlgorithm kLoad, cub::BlockStoreAlgorithm kStore>
__device__ void block_copy(const int* in, int* out) {
  using Load = cub::BlockLoad<int, kThreads, kItems, kLoad>;
  using Store = cub::BlockStore<int, kThreads, kItems, kStore>;
  __shared__ union {
    typename Load::TempStorage load;
    typename Store::TempStorage store;
  } storage;
  int items[kItems];
  Load(storage.load).Load(in, items, kTile - 3, 0);
  __syncthreads();
  Store(storage.store).Store(out, items, kTile);
}
__global__ void block_copy_transposed(const int* in, int* out) {
  block_copy<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE>(in, out);
}
__global__ void block_copy_warp_transposed(const int* in, int* out) {
  block_copy<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE>(in, out);
}
__global__ void block_copy_timesliced(const int* in, int* out) {
  block_copy<cub::BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED, cub::BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED>(in, out);
}

__global__ void block_radix_sort(const int* in, int* out) {
  using Sort = cub::BlockRadixSort<int, kThreads, kItems>;
  __shared__ typename Sort::TempStorage storage;
  int items[kItems];
  cub::LoadDirectBlocked(threadIdx.x, in, items);
  Sort(storage).SortBlockedToStriped(items);
  cub::StoreDirectStriped<kThreads>(threadIdx.x, out, items);
}

__global__ void block_merge_sort(const int* in, int* out) {
  using Sort = cub::BlockMergeSort<int, kThreads, kItems>;
  __shared__ typename Sort::TempStorage storage;
  int items[kItems];
  cub::LoadDirectBlocked(threadIdx.x, in, items);
  Sort(storage).Sort(items, Less{});
  cub::StoreDirectBlocked(threadIdx.x, out, items);
}

__global__ void block_exchange(const int* in, int* out) {
  using Exchange = cub::BlockExchange<int, kThreads, kItems>;
  __shared__ typename Exchange::TempStorage storage;
  int items[kItems];
  cub::LoadDirectStriped<kThreads>(threadIdx.x, in, items);
  Exchange(storage).StripedToBlocked(items, items);
  __syncthreads();
  Exchange(storage).BlockedToStriped(items, items);
  cub::StoreDirectStriped<kThreads>(threadIdx.x, out, items);
}

template <cub::BlockHistogramAlgorithm kAlgorithm>
__device__ void block_histogram(const int* in, int* out) {
  using Histogram = cub::BlockHistogram<unsigned char, kThreads, kItems, 64, kAlgorithm>;
  __shared__ typename Histogram::TempStorage storage;
  __shared__ int bins[64];
  unsigned char samples[kItems];
  for (int i = 0; i < kItems; ++i)
    samples[i] = static_cast<unsigned char>(in[threadIdx.x * kItems + i]);
  Histogram(storage).Histogram(samples, bins);
  __syncthreads();
  if (threadIdx.x < 64)
    out[threadIdx.x] = bins[threadIdx.x];
}
__global__ void block_histogram_atomic(const int* in, int* out) {
  block_histogram<cub::BLOCK_HISTO_ATOMIC>(in, out);
}
__global__ void block_histogram_sort(const int* in, int* out) {
  block_histogram<cub::BLOCK_HISTO_SORT>(in, out);
}

// Heads of runs, differences and neighbours.
__global__ void block_neighbours(const int* in, int* out) {
  using Heads = cub::BlockDiscontinuity<int, kThreads>;
  using Difference = cub::BlockAdjacentDifference<int, kThreads>;
  using Shuffle = cub::BlockShuffle<int, kThreads>;
  __shared__ typename Heads::TempStorage heads;
  __shared__ typename Difference::TempStorage difference;
  __shared__ typename Shuffle::TempStorage shuffle;
  int items[kItems], flags[kItems], left[kItems], previous[kItems];
  cub::LoadDirectBlocked(threadIdx.x, in, items);
  Heads(heads).FlagHeads(flags, items, cuda::std::not_equal_to<>{});
  Difference(difference).SubtractLeft(items, left, cuda::std::minus<>{});
  Shuffle(shuffle).Up(items, previous);
  for (int i = 0; i < kItems; ++i)
    out[threadIdx.x * kItems + i] =
        threadIdx.x + i == 0 ? 0 : flags[i] * 1000 + left[i] - (items[i] - previous[i]);
}

// Lengths of runs, 4 each, back to runs.
__global__ void block_run_length_decode(int* out) {
  using Decode = cub::BlockRunLengthDecode<int, kThreads, 1, kItems>;
  __shared__ typename Decode::TempStorage storage;
  int values[1] = {static_cast<int>(threadIdx.x)}, lengths[1] = {4}, total = 0, items[kItems];
  Decode decode(storage, values, lengths, total);
  decode.RunLengthDecode(items, 0);
  cub::StoreDirectBlocked(threadIdx.x, out, items);
}

__global__ void warp_reduce(const int* in, int* out) {
  using Reduce = cub::WarpReduce<int, 16>; // of half a warp
  __shared__ typename Reduce::TempStorage storage[kThreads / 16];
  const int sum = Reduce(storage[threadIdx.x / 16]).Sum(in[threadIdx.x]);
  if (threadIdx.x % 16 == 0)
    out[threadIdx.x / 16] = sum;
}

__global__ void warp_scan(const int* in, int* out) {
  using Scan = cub::WarpScan<int, 24>; // no power of two: by shared memory
  __shared__ typename Scan::TempStorage storage[kThreads / 32];
  const unsigned lane = threadIdx.x % 32;
  if (lane < 24)
    Scan(storage[threadIdx.x / 32]).InclusiveSum(in[threadIdx.x], out[threadIdx.x]);
}

__global__ void warp_merge_sort(const int* in, int* out) {
  using Sort = cub::WarpMergeSort<int, kItems, 32>;
  __shared__ typename Sort::TempStorage storage[kThreads / 32];
  int items[kItems];
  cub::LoadDirectBlocked(threadIdx.x, in, items);
  Sort(storage[threadIdx.x / 32]).Sort(items, Less{});
  cub::StoreDirectBlocked(threadIdx.x, out, items);
}

__global__ void warp_exchange(const int* in, int* out) {
  using Load = cub::WarpLoad<int, kItems, cub::WARP_LOAD_TRANSPOSE>;
  using Exchange = cub::WarpExchange<int, kItems>;
  using Store = cub::WarpStore<int, kItems, cub::WARP_STORE_TRANSPOSE>;
  __shared__ typename Load::TempStorage load[kThreads / 32];
  __shared__ typename Exchange::TempStorage exchange[kThreads / 32];
  __shared__ typename Store::TempStorage store[kThreads / 32];
  const int warp = threadIdx.x / 32;
  int items[kItems];
  Load(load[warp]).Load(in + warp * 32 * kItems, items);
  Exchange(exchange[warp]).BlockedToStriped(items, items);
  __syncwarp();
  Exchange(exchange[warp]).StripedToBlocked(items, items);
  Store(store[warp]).Store(out + warp * 32 * kItems, items);
}

int main() {
  const auto values = small_numbers<int>(kTile, 0, 63);
  DeviceArray<int> in(values), out(kTile);
  const auto run = [&](void (*kernel)(const int*, int*)) {
    kernel<<<1, kThreads>>>(in.data(), out.data());
    ok(cudaDeviceSynchronize());
    return out.host();
  };
  const int sum = std::accumulate(values.begin(), values.end(), 0);
  std::vector<int> prefix(kTile), wanted(values);
  std::inclusive_scan(values.begin(), values.end(), prefix.begin());
  for (const auto kernel : {block_reduce_shuffles, block_reduce_raking, block_reduce_commutative})
    equal(sum, run(kernel)[0]);
  for (const auto kernel : {block_scan_warps, block_scan_raking, block_scan_memoized})
    equal(prefix, run(kernel));
  std::fill(wanted.end() - 3, wanted.end(), 0);
  for (const auto kernel : {block_copy_transposed, block_copy_warp_transposed, block_copy_timesliced})
    equal(wanted, run(kernel));
  wanted = values;
  std::sort(wanted.begin(), wanted.end());
  equal(wanted, run(block_radix_sort));
  equal(wanted, run(block_merge_sort));
  equal(values, run(block_exchange));
  std::vector<int> bins(64, 0);
  for (const int x : values)
    ++bins[x];
  for (const auto kernel : {block_histogram_atomic, block_histogram_sort}) {
    auto got = run(kernel);
    got.resize(64);
    equal(bins, got);
  }
  const auto heads = run(block_neighbours);
  for (int i = 1; i < kTile; ++i)
    equal(values[i] != values[i - 1] ? 1000 : 0, heads[i]);
  block_run_length_decode<<<1, kThreads>>>(out.data());
  const auto decoded = out.host();
  for (int i = 0; i < kTile; ++i)
    equal(i / 4, decoded[i]);
  const auto sums = run(warp_reduce);
  equal(std::accumulate(values.begin() + 16, values.begin() + 32, 0), sums[1]);
  const auto scanned = run(warp_scan);
  equal(std::accumulate(values.begin() + 32, values.begin() + 56, 0), scanned[55]);
  wanted = values;
  for (int i = 0; i < kTile; i += 32 * kItems)
    std::sort(wanted.begin() + i, wanted.begin() + i + 32 * kItems);
  equal(wanted, run(warp_merge_sort));
  equal(values, run(warp_exchange));
  return result();
}
