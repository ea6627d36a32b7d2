// CUB over whole arrays: reductions, scans, runs and segments.
#include "../check.h"
#include "cub_memory.h"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include <algorithm>
#include <numeric>

struct Larger {
  __device__ int operator()(int a, int b) const { return a < b ? b : a; }
};
struct Squared {
  __device__ int operator()(int a) const { return a * a; }
};

int main() {
  const int count = 20000;
  const auto values = small_numbers<int>(count, -50, 50);
  DeviceArray<int> in(values), out(count), one(1), runs(1);

  with_memory([&](void* m, size_t& n) { return cub::DeviceReduce::Sum(m, n, in.data(), one.data(), count); });
  equal(std::accumulate(values.begin(), values.end(), 0), one.host()[0]);
  with_memory([&](void* m, size_t& n) { return cub::DeviceReduce::Min(m, n, in.data(), one.data(), 500); });
  equal(*std::min_element(values.begin(), values.begin() + 500), one.host()[0]);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceReduce::TransformReduce(m, n, in.data(), one.data(), count, Larger{}, Squared{}, 0);
  });
  equal(2500, one.host()[0]);

  with_memory(
      [&](void* m, size_t& n) { return cub::DeviceScan::ExclusiveSum(m, n, in.data(), out.data(), count); });
  std::vector<int> wanted(count);
  std::exclusive_scan(values.begin(), values.end(), wanted.begin(), 0);
  equal(wanted, out.host());
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceScan::InclusiveScan(m, n, in.data(), out.data(), Larger{}, count);
  });
  std::inclusive_scan(values.begin(), values.end(), wanted.begin(),
                      [](int a, int b) { return std::max(a, b); });
  equal(wanted, out.host());

  // Runs of equal keys, 1 to 4 long.
  std::vector<int> keys, lengths, starts, sums, offsets = {0};
  Numbers numbers(3);
  for (int key = 0; static_cast<int>(keys.size()) < count; ++key) {
    const int length = std::min(1 + numbers.below(4), count - static_cast<int>(keys.size()));
    starts.push_back(static_cast<int>(keys.size()));
    lengths.push_back(length);
    sums.push_back(
        std::accumulate(values.begin() + starts.back(), values.begin() + starts.back() + length, 0));
    keys.insert(keys.end(), length, key);
    offsets.push_back(static_cast<int>(keys.size()));
  }
  const int many = static_cast<int>(lengths.size());
  DeviceArray<int> keyed(keys), unique(count), totals(count);
  const auto first = [&](const DeviceArray<int>& array, size_t size) {
    auto host = array.host();
    host.resize(size);
    return host;
  };
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceReduce::ReduceByKey(m, n, keyed.data(), unique.data(), in.data(), totals.data(),
                                          runs.data(), cuda::std::plus<>{}, count);
  });
  equal(many, runs.host()[0]);
  equal(sums, first(totals, many));
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceScan::InclusiveSumByKey(m, n, keyed.data(), in.data(), out.data(), count);
  });
  for (int i = 0; i < count; ++i)
    wanted[i] = values[i] + (i > 0 && keys[i] == keys[i - 1] ? wanted[i - 1] : 0);
  equal(wanted, out.host());
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceRunLengthEncode::Encode(m, n, keyed.data(), unique.data(), totals.data(), runs.data(),
                                              count);
  });
  equal(many, runs.host()[0]);
  equal(lengths, first(totals, many));
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceRunLengthEncode::NonTrivialRuns(m, n, keyed.data(), unique.data(), totals.data(),
                                                      runs.data(), count);
  });
  equal(static_cast<double>(many - std::count(lengths.begin(), lengths.end(), 1)), runs.host()[0]);

  DeviceArray<int> ends(offsets);
  const int segments = 40;
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSegmentedReduce::Sum(m, n, in.data(), totals.data(), segments, ends.data(),
                                           ends.data() + 1);
  });
  equal(std::vector<int>(sums.begin(), sums.begin() + segments), first(totals, segments));
  return result();
}
