// CUB over whole arrays: radix and merge sorts, of segments too.
#include "../check.h"
#include "cub_memory.h"

#include <cub/device/device_merge.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include <algorithm>
#include <numeric>

struct Less {
  __device__ bool operator()(unsigned a, unsigned b) const { return a < b; }
};

int main() {
  const int count = 16000, few = 1000;
  Numbers numbers(5);
  std::vector<unsigned> keys(count);
  for (unsigned& key : keys)
    key = numbers.next() >> 8;
  std::vector<int> places(count);
  std::iota(places.begin(), places.end(), 0);
  auto sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  std::vector<unsigned> few_sorted(keys.begin(), keys.begin() + few);
  std::sort(few_sorted.begin(), few_sorted.end());
  DeviceArray<unsigned> in(keys), out(count), work(count);
  DeviceArray<int> values(places), moved(count);
  const auto first = [](const DeviceArray<unsigned>& array, size_t size) {
    auto host = array.host();
    host.resize(size);
    return host;
  };

  // Many digits at once, and a single tile.
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceRadixSort::SortPairs(m, n, in.data(), out.data(), values.data(), moved.data(), count);
  });
  equal(sorted, out.host());
  equal(keys[moved.host()[77]], sorted[77]);
  with_memory(
      [&](void* m, size_t& n) { return cub::DeviceRadixSort::SortKeys(m, n, in.data(), out.data(), few); });
  equal(few_sorted, first(out, few));
  // In a buffer that changes sides.
  ok(cudaMemcpy(work.data(), in.data(), in.bytes(), cudaMemcpyDeviceToDevice));
  cub::DoubleBuffer<unsigned> sides(work.data(), out.data());
  with_memory([&](void* m, size_t& n) { return cub::DeviceRadixSort::SortKeys(m, n, sides, count, 0, 20); });

  ok(cudaMemcpy(work.data(), in.data(), in.bytes(), cudaMemcpyDeviceToDevice));
  with_memory(
      [&](void* m, size_t& n) { return cub::DeviceMergeSort::SortKeys(m, n, work.data(), count, Less{}); });
  equal(sorted, work.host());
  ok(cudaMemcpy(work.data(), in.data(), in.bytes(), cudaMemcpyDeviceToDevice));
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceMergeSort::StableSortPairs(m, n, work.data(), values.data(), count, Less{});
  });
  equal(sorted, work.host());
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceMergeSort::SortKeysCopy(m, n, in.data(), out.data(), few, Less{});
  });
  equal(few_sorted, first(out, few));

  const int left = 3000, right = 2500;
  std::vector<unsigned> merged(left + right);
  DeviceArray<unsigned> united(left + right);
  std::merge(sorted.begin(), sorted.begin() + left, sorted.begin() + 1000, sorted.begin() + 1000 + right,
             merged.begin());
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceMerge::MergeKeys(m, n, work.data(), left, work.data() + 1000, right, united.data(),
                                       Less{});
  });
  equal(merged, united.host());

  // Segments: of a warp's size, of a CTA's, and one of several.
  const std::vector<int> offsets = {0, 0, 5, 30, 100, 400, 900, 5500};
  DeviceArray<int> ends(offsets);
  const int segments = static_cast<int>(offsets.size()) - 1;
  auto wanted = keys;
  for (int i = 0; i < segments; ++i)
    std::sort(wanted.begin() + offsets[i], wanted.begin() + offsets[i + 1]);
  wanted.resize(offsets.back());
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSegmentedRadixSort::SortKeys(m, n, in.data(), out.data(), offsets.back(), segments,
                                                   ends.data(), ends.data() + 1);
  });
  equal(wanted, first(out, offsets.back()));
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSegmentedSort::SortKeys(m, n, in.data(), out.data(), offsets.back(), segments,
                                              ends.data(), ends.data() + 1);
  });
  equal(wanted, first(out, offsets.back()));
  // So many segments that CUB sorts the small ones by warps, in a kernel of its own.
  std::vector<int> many = {0};
  for (int i = 0; i < 600; ++i)
    many.push_back(many.back() + (i == 7 ? 3000 : i % 9));
  DeviceArray<int> borders(many);
  wanted = keys;
  for (size_t i = 0; i + 1 < many.size(); ++i)
    std::sort(wanted.begin() + many[i], wanted.begin() + many[i + 1]);
  wanted.resize(many.back());
  with_memory([&](void* m, size_t& n) {
    return cub::DeviceSegmentedSort::StableSortKeys(m, n, in.data(), out.data(), many.back(), 600,
                                                    borders.data(), borders.data() + 1);
  });
  equal(wanted, first(out, wanted.size()));
  return result();
}
