// CUB over whole arrays: what is selected, partitioned, counted, copied and transformed.
#include "../check.h"
#include "cub_memory.h"

#include <cub/device/device_adjacent_difference.cuh>
#include <cub/device/device_copy.cuh>
#include <cub/device/device_for.cuh>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_select.cuh>
#include <cub/device/device_transform.cuh>

#include <cuda/std/array>
#include <cuda/std/tuple>

#include <algorithm>

struct IsEven {
  __device__ bool operator()(int x) const { return x % 2 == 0; }
};
struct IsBelow {
  int bound;
  __device__ bool operator()(int x) const { return x < bound; }
};
struct Add {
  __device__ int operator()(int a, int b) const { return a + b; }
};
struct AddOne {
  __device__ void operator()(int& x) const { ++x; }
};

int main() {
  const int count = 20000;
  const auto values = small_numbers<int>(count, 0, 60);
  DeviceArray<int> in(values), out(count), more(count), chosen(2);
  std::vector<int> even, odd, flags;
  for (const int x : values) {
    (x % 2 ? odd : even).push_back(x);
    flags.push_back(x % 3 == 0);
  }
  const auto first = [](const DeviceArray<int>& array, size_t size) {
    auto host = array.host();
    host.resize(size);
    return host;
  };
  DeviceArray<int> flagged(flags);

  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSelect::If(m, n, in.data(), out.data(), chosen.data(), count, IsEven{});
  });
  equal(even, first(out, chosen.host()[0]));
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSelect::Flagged(m, n, in.data(), flagged.data(), out.data(), chosen.data(), count);
  });
  equal(static_cast<double>(std::count(flags.begin(), flags.end(), 1)), chosen.host()[0]);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSelect::Unique(m, n, in.data(), out.data(), chosen.data(), count);
  });
  auto unique = values;
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  equal(unique, first(out, chosen.host()[0]));
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSelect::UniqueByKey(m, n, in.data(), flagged.data(), out.data(), more.data(),
                                          chosen.data(), count);
  });
  equal(unique, first(out, chosen.host()[0]));
  DeviceArray<int> in_place(values);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSelect::If(m, n, in_place.data(), chosen.data(), count, IsEven{});
  });
  equal(even, first(in_place, even.size()));

  with_memory([&](void* m, size_t& n) {
    return cub::DevicePartition::If(m, n, in.data(), out.data(), chosen.data(), count, IsEven{});
  });
  equal(even, first(out, even.size()));
  with_memory([&](void* m, size_t& n) {
    return cub::DevicePartition::Flagged(m, n, in.data(), flagged.data(), out.data(), chosen.data(), count);
  });
  DeviceArray<int> third(count);
  with_memory([&](void* m, size_t& n) {
    return cub::DevicePartition::If(m, n, in.data(), out.data(), more.data(), third.data(), chosen.data(),
                                    count, IsBelow{10}, IsBelow{30});
  });
  equal(static_cast<double>(std::count_if(values.begin(), values.end(), [](int x) { return x < 10; })),
        chosen.host()[0]);

  std::vector<unsigned char> bytes(values.begin(), values.end());
  DeviceArray<unsigned char> samples(bytes);
  DeviceArray<int> bins(61), levels(std::vector<int>{0, 5, 20, 61});
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceHistogram::HistogramEven(m, n, samples.data(), bins.data(), 62, 0, 61, count);
  });
  std::vector<int> wanted(61, 0);
  for (const int x : values)
    ++wanted[x];
  equal(wanted, bins.host());
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceHistogram::HistogramRange(m, n, in.data(), bins.data(), 4, levels.data(), count);
  });
  equal(wanted[0] + wanted[1] + wanted[2] + wanted[3] + wanted[4], bins.host()[0]);
  // Four channels, of which three are counted; more bins than shared memory is used for.
  DeviceArray<int> red(64), green(64), blue(3000);
  const cuda::std::array<int*, 3> histograms = {red.data(), green.data(), blue.data()};
  const cuda::std::array<int, 3> level_counts = {65, 65, 3001}, lower = {0, 0, 0}, upper = {64, 64, 3000};
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceHistogram::MultiHistogramEven<4, 3>(m, n, in.data(), histograms, level_counts, lower,
                                                          upper, count / 4);
  });
  int of_red = 0;
  for (int i = 0; i < count; i += 4)
    of_red += values[i] == 7;
  equal(of_red, red.host()[7]);

  with_memory([&](void* m, size_t& n) {
    return cub::DeviceAdjacentDifference::SubtractLeftCopy(m, n, in.data(), out.data(), count);
  });
  equal(values[4000] - values[3999], out.host()[4000]);
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceAdjacentDifference::SubtractRight(m, n, out.data(), count);
  });
  ok(cub::DeviceTransform::Transform(cuda::std::tuple{in.data(), flagged.data()}, out.data(), count, Add{}));
  equal(values[4000] + flags[4000], out.host()[4000]);
  ok(cub::DeviceFor::ForEach(out.data(), out.data() + count, AddOne{}));
  equal(values[4000] + flags[4000] + 1, out.host()[4000]);

  // 30 ranges of many lengths: some a thread's work, some a warp's, the last a CTA's or more.
  std::vector<const int*> from;
  std::vector<int*> to;
  std::vector<int> sizes, lengths;
  int at = 0;
  for (int i = 0; i < 30; ++i) {
    const int length = i == 29 ? 6000 : 1 + i * 5;
    from.push_back(in.data() + at);
    to.push_back(out.data() + at);
    lengths.push_back(length);
    sizes.push_back(length * 4);
    at += length;
  }
  DeviceArray<const int*> sources(from);
  DeviceArray<int*> targets(to);
  DeviceArray<int> how_many(lengths), how_large(sizes);
  ok(cudaMemset(out.data(), 0, out.bytes()));
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceMemcpy::Batched(m, n, sources.data(), targets.data(), how_large.data(), 30);
  });
  equal(std::vector<int>(values.begin(), values.begin() + at), first(out, at));
  ok(cudaMemset(out.data(), 0, out.bytes()));
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceCopy::Batched(m, n, sources.data(), targets.data(), how_many.data(), 30);
  });
  equal(std::vector<int>(values.begin(), values.begin() + at), first(out, at));
  return result();
}
