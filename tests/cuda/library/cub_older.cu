// arch: 80
// CUB built for a machine before sm_90, on one that runs programmatic launches: its launches ask for them,
// and its kernels can neither wait nor let others begin.
#include <cub/cub.cuh>

#include <algorithm>
#include <numeric>

#include "cub_memory.h"

int main() {
  const int count = 9000;
  std::vector<int> keys(count), wanted(count);
  for (int i = 0; i < count; ++i)
    keys[i] = (i * 7919) % 5003;
  DeviceArray<int> sorted(keys);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceMergeSort::SortKeys(m, n, sorted.data(), count, cuda::std::less<int>{});
  });
  wanted = keys;
  std::sort(wanted.begin(), wanted.end());
  equal(wanted, sorted.host());

  // Runs of one to seven of a key.
  std::vector<int> runs(count), ones(count, 1), lengths;
  for (int i = 0, key = 0; i < count; ++key) {
    lengths.push_back(std::min(1 + key * 5 % 7, count - i));
    std::fill_n(runs.begin() + i, lengths.back(), key);
    i += lengths.back();
  }
  DeviceArray<int> keyed(runs), values(ones), unique(count), totals(count), many(1);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceReduce::ReduceByKey(m, n, keyed.data(), unique.data(), values.data(), totals.data(),
                                          many.data(), cuda::std::plus<>{}, count);
  });
  equal(static_cast<double>(lengths.size()), many.host()[0]);
  std::vector<int> got = totals.host();
  got.resize(lengths.size());
  equal(lengths, got);
  return result();
}
