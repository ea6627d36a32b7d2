// CUB: reductions, scans, selections, radix sorts and histograms of whole arrays, with memory of the caller's.
#include "check.h"

#include <cub/device/device_histogram.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>

// CUB's two calls: how much memory, and the work.
template <class F> void with_memory(F f) {
  size_t bytes = 0;
  ok(f(nullptr, bytes));
  DeviceArray<char> memory(bytes + 1);
  ok(f(memory.data(), bytes));
}

struct IsEven {
  __device__ bool operator()(unsigned x) const { return x % 2 == 0; }
};

int main() {
  const int count = 4000;
  std::vector<unsigned> values(count);
  Numbers numbers;
  for (unsigned& x : values)
    x = numbers.next() >> 8;
  DeviceArray<unsigned> in(values), out(count), one(1);

  with_memory([&](void* m, size_t& n) { return cub::DeviceReduce::Sum(m, n, in.data(), one.data(), count); });
  unsigned sum = 0;
  std::vector<unsigned> prefix, even;
  for (const unsigned x : values) {
    prefix.push_back(sum += x);
    if (x % 2 == 0)
      even.push_back(x);
  }
  equal(sum, one.host()[0]);
  with_memory([&](void* m, size_t& n) { return cub::DeviceReduce::Max(m, n, in.data(), one.data(), count); });
  equal(*std::max_element(values.begin(), values.end()), one.host()[0]);
  with_memory(
      [&](void* m, size_t& n) { return cub::DeviceScan::InclusiveSum(m, n, in.data(), out.data(), count); });
  equal(prefix, out.host());
  DeviceArray<int> selected(1);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSelect::If(m, n, in.data(), out.data(), selected.data(), count, IsEven{});
  });
  equal(static_cast<double>(even.size()), selected.host()[0]);
  auto got = out.host();
  got.resize(even.size());
  equal(even, got);
  with_memory(
      [&](void* m, size_t& n) { return cub::DeviceRadixSort::SortKeys(m, n, in.data(), out.data(), count); });
  std::sort(values.begin(), values.end());
  equal(values, out.host());
  const auto small = small_numbers<unsigned char>(count, 0, 63);
  DeviceArray<unsigned char> samples(small);
  DeviceArray<int> bins(64);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceHistogram::HistogramEven(m, n, samples.data(), bins.data(), 65, 0, 64, count);
  });
  std::vector<int> wanted(64, 0);
  for (const unsigned char x : small)
    ++wanted[x];
  equal(wanted, bins.host());
  return result();
}
