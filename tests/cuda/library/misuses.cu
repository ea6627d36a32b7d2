// Errors of the user beside algorithms in which --check suppresses what is the library's: misuses NAME makes
// one. Without a name: which there are. Not for a GPU: results are wrong there, or worse.
// nvcc: -DTHRUST_FORCE_32_BIT_OFFSET_TYPE
#include "cub_memory.h"

#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_select.cuh>
#include <thrust/execution_policy.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/set_operations.h>
#include <thrust/unique.h>

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/pipeline>

#include <cstring>
#include <numeric>

namespace cg = cooperative_groups;

#pragma nv_diag_suppress static_var_with_dynamic_init // mbarriers in shared memory: the pipeline makes them

constexpr int kCount = 24000, kThreads = 128;

struct Less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
struct IsPositive {
  __device__ bool operator()(int x) const { return x >= 0; }
};

// Runs of keys, each twice.
DeviceArray<int> runs() {
  std::vector<int> keys(kCount);
  for (int i = 0; i < kCount; ++i)
    keys[i] = i / 2;
  return DeviceArray<int>(keys);
}

DeviceArray<int> numbers() {
  std::vector<int> values(kCount);
  std::iota(values.begin(), values.end(), 0);
  return DeviceArray<int>(values);
}

cudaStream_t stream() {
  cudaStream_t made = nullptr;
  ok(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
  return made;
}

// What is kept, all of it, lands where other CTAs have still to read.
void unique_ahead() {
  const auto keys = numbers();
  thrust::unique_copy(thrust::device, keys.data(), keys.data() + kCount - 3000, keys.data() + 3000);
}
void unique_by_key_ahead() {
  const auto keys = numbers(), values = runs(), out = runs();
  thrust::unique_by_key_copy(thrust::device, keys.data(), keys.data() + kCount - 3000, values.data(),
                             keys.data() + 3000, out.data());
}
void select_ahead() {
  const auto keys = numbers();
  DeviceArray<int> chosen(1);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSelect::If(m, n, keys.data(), keys.data() + 3000, chosen.data(), kCount - 3000,
                                 IsPositive{});
  });
}

void runs_in_one_array() {
  const auto keys = runs();
  DeviceArray<int> out(kCount), many(1);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceRunLengthEncode::NonTrivialRuns(m, n, keys.data(), out.data(), out.data() + 100,
                                                      many.data(), kCount);
  });
}

// A value that the user's own iterator has not set, in the last tile too.
struct Unset {
  __device__ int operator()(int x) const {
    int values[4];
    values[x % 4] = x;
    return values[x / 2 % 4];
  }
};
void reduce_by_key_unset() {
  const auto keys = runs(), values = numbers();
  DeviceArray<int> unique(kCount), totals(kCount), many(1);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceReduce::ReduceByKey(m, n, keys.data(), unique.data(),
                                          thrust::make_transform_iterator(values.data(), Unset{}),
                                          totals.data(), many.data(), cuda::std::plus<>{}, kCount);
  });
}
// Values of a run are summed into the array that they are read from.
void reduce_by_key_ahead() {
  const auto keys = numbers(), values = numbers();
  DeviceArray<int> unique(kCount), many(1);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceReduce::ReduceByKey(m, n, keys.data(), unique.data(), values.data(),
                                          values.data() + 3000, many.data(), cuda::std::plus<>{},
                                          kCount - 3000);
  });
}

// The keys are read while the sort writes them.
__global__ void read_all(const int* keys, int* out) {
  int sum = 0;
  for (int i = threadIdx.x; i < kCount; i += blockDim.x)
    sum += keys[i];
  out[threadIdx.x] = sum;
}
__global__ void read_then_wait(const int* keys, int* out) {
  const int first = keys[threadIdx.x];
  cudaGridDependencySynchronize();
  out[threadIdx.x] = first;
}

void merge_sort_no_event() {
  const auto keys = runs();
  DeviceArray<int> out(kThreads);
  const cudaStream_t sorts = stream(), reads = stream();
  size_t bytes = 0;
  ok(cub::DeviceMergeSort::SortKeys(nullptr, bytes, keys.data(), kCount, Less{}));
  DeviceArray<char> memory(bytes);
  ok(cudaDeviceSynchronize());
  ok(cub::DeviceMergeSort::SortKeys(memory.data(), bytes, keys.data(), kCount, Less{}, sorts));
  read_all<<<1, kThreads, 0, reads>>>(keys.data(), out.data());
  ok(cudaDeviceSynchronize());
}
void merge_sort_memory_of_another() {
  const auto keys = runs(), more = runs();
  const cudaStream_t first = stream(), second = stream();
  size_t bytes = 0;
  ok(cub::DeviceMergeSort::SortKeys(nullptr, bytes, keys.data(), kCount, Less{}));
  DeviceArray<char> memory(bytes);
  ok(cudaDeviceSynchronize());
  ok(cub::DeviceMergeSort::SortKeys(memory.data(), bytes, keys.data(), kCount, Less{}, first));
  ok(cub::DeviceMergeSort::SortKeys(memory.data(), bytes, more.data(), kCount, Less{}, second));
  ok(cudaDeviceSynchronize());
}
void merge_sort_memory_freed() {
  const auto keys = runs();
  const cudaStream_t sorts = stream(), frees = stream();
  size_t bytes = 0;
  ok(cub::DeviceMergeSort::SortKeys(nullptr, bytes, keys.data(), kCount, Less{}));
  void* memory = nullptr;
  ok(cudaMallocAsync(&memory, bytes, sorts));
  ok(cub::DeviceMergeSort::SortKeys(memory, bytes, keys.data(), kCount, Less{}, sorts));
  ok(cudaFreeAsync(memory, frees));
  ok(cudaDeviceSynchronize());
}
void merge_sort_keys_freed() {
  int* keys = nullptr;
  ok(cudaMalloc(reinterpret_cast<void**>(&keys), kCount * sizeof(int)));
  ok(cudaFree(keys));
  size_t bytes = 0;
  ok(cub::DeviceMergeSort::SortKeys(nullptr, bytes, keys, kCount, Less{}));
  DeviceArray<char> memory(bytes);
  cub::DeviceMergeSort::SortKeys(memory.data(), bytes, keys, kCount, Less{});
  cudaDeviceSynchronize();
}
void merge_sort_read_early() {
  const auto keys = runs();
  DeviceArray<int> out(kThreads);
  size_t bytes = 0;
  ok(cub::DeviceMergeSort::SortKeys(nullptr, bytes, keys.data(), kCount, Less{}));
  DeviceArray<char> memory(bytes);
  ok(cub::DeviceMergeSort::SortKeys(memory.data(), bytes, keys.data(), kCount, Less{}));
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(kThreads);
  config.attrs = &early;
  config.numAttrs = 1;
  ok(cudaLaunchKernelEx(&config, read_then_wait, static_cast<const int*>(keys.data()), out.data()));
  ok(cudaDeviceSynchronize());
}

void intersection_ahead() {
  const auto a = numbers(), b = numbers();
  thrust::set_intersection(thrust::device, a.data(), a.data() + kCount - 3000, b.data(), b.data() + kCount,
                           a.data() + 3000);
}
void intersection_unset() {
  const auto a = runs(), b = runs(), out = runs();
  const auto unset = thrust::make_transform_iterator(b.data(), Unset{});
  thrust::set_intersection(thrust::device, a.data(), a.data() + kCount, unset, unset + kCount, out.data());
}

void segmented_sort(const int* keys, const std::vector<int>& begins, const std::vector<int>& ends) {
  DeviceArray<int> out(kCount), first(begins), last(ends);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSegmentedRadixSort::SortKeys(
        m, n, keys, out.data(), kCount, static_cast<int>(begins.size()), first.data(), last.data());
  });
}
void segments_overlap() {
  segmented_sort(runs().data(), {0, 3000, 8000}, {4000, 8000, 9000});
}

// The operation reads what other warps may not have stored yet.
struct Weighted {
  const int* weights;
  __device__ int operator()(int a, int b) const { return a + b * weights[b % kThreads]; }
};
__global__ void weights_too_late(const int* in, int* out) {
  __shared__ int weights[kThreads];
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block());
  weights[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = cg::reduce(tile, in[threadIdx.x], Weighted{weights});
}
void tile_operation() {
  const auto in = runs();
  DeviceArray<int> out(kThreads);
  weights_too_late<<<1, kThreads>>>(in.data(), out.data());
  ok(cudaDeviceSynchronize());
}
// Each warp of the tile reads what another has stored.
__global__ void sum_too_early(const int* in, int* out) {
  __shared__ cg::block_tile_memory<kThreads> memory;
  __shared__ int sums[kThreads];
  const auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
  sums[threadIdx.x] = cg::inclusive_scan(tile, in[threadIdx.x]);
  out[threadIdx.x] = sums[threadIdx.x ^ 32];
}
void tile_scan() {
  const auto in = runs();
  DeviceArray<int> out(kThreads);
  sum_too_early<<<1, kThreads>>>(in.data(), out.data());
  ok(cudaDeviceSynchronize());
}

template <bool kWaits, bool kTwice>
__global__ void pipeline_wrong(const int* in, int* out) {
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  __shared__ int values[kThreads];
  const cg::thread_block block = cg::this_thread_block();
  int sum = 0;
  for (int round = 0; round < (kTwice ? 2 : 1); ++round) {
    auto pipeline = cuda::make_pipeline(block, &state);
    pipeline.producer_acquire();
    cuda::memcpy_async(block, values, in, sizeof values, pipeline);
    pipeline.producer_commit();
    if (kWaits)
      pipeline.consumer_wait();
    sum += values[threadIdx.x ^ 32];
    pipeline.consumer_release();
  }
  out[threadIdx.x] = sum;
}
template <bool kWaits, bool kTwice>
void pipeline() {
  const auto in = runs();
  DeviceArray<int> out(kThreads);
  pipeline_wrong<kWaits, kTwice><<<1, kThreads>>>(in.data(), out.data());
  ok(cudaDeviceSynchronize());
}

struct Misuse {
  const char *name, *id; // of what is found
  void (*run)();
};

int main(int argc, char** argv) {
  const Misuse misuses[] = {
      {"intersection_ahead", "race.global", intersection_ahead},
      {"intersection_unset", "memory.undefined", intersection_unset},
      {"merge_sort_keys_freed", "memory.lifetime", merge_sort_keys_freed},
      {"merge_sort_memory_freed", "memory.lifetime", merge_sort_memory_freed},
      {"merge_sort_memory_of_another", "stream.race", merge_sort_memory_of_another},
      {"merge_sort_no_event", "stream.race", merge_sort_no_event},
      {"merge_sort_read_early", "warp.griddepcontrol", merge_sort_read_early},
      {"pipeline_again", "mbarrier.init", pipeline<true, true>},
      {"pipeline_no_wait", "async.unwaited", pipeline<false, false>},
      {"reduce_by_key_ahead", "race.global", reduce_by_key_ahead},
      {"reduce_by_key_unset", "memory.undefined", reduce_by_key_unset},
      {"runs_in_one_array", "race.global", runs_in_one_array},
      {"segments_overlap", "race.global", segments_overlap},
      {"select_ahead", "race.global", select_ahead},
      {"tile_operation", "race.shared", tile_operation},
      {"tile_scan", "race.shared", tile_scan},
      {"unique_ahead", "race.weak", unique_ahead},
      {"unique_by_key_ahead", "race.global", unique_by_key_ahead},
  };
  for (const Misuse& misuse : misuses)
    if (argc == 1)
      std::printf("%s %s\n", misuse.name, misuse.id);
    else if (std::strcmp(misuse.name, argv[1]) == 0)
      misuse.run();
  return 0;
}
