// thrust: sorts, merges, set operations, searches.
// nvcc: -DTHRUST_FORCE_32_BIT_OFFSET_TYPE
#include "../check.h"

#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/merge.h>
#include <thrust/set_operations.h>
#include <thrust/sort.h>

#include <algorithm>

struct ByLastDigit {
  __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};

template <class T>
std::vector<T> host(const thrust::device_vector<T>& from, size_t size) {
  std::vector<T> values(size);
  thrust::copy(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(size), values.begin());
  return values;
}

int main() {
  const int count = 12000;
  const auto values = small_numbers<int>(count, 0, 100000);
  const thrust::device_vector<int> in(values.begin(), values.end());
  auto sorted = values;
  std::sort(sorted.begin(), sorted.end());

  thrust::device_vector<int> keys = in, more(count), out(2 * count), out_values(2 * count);
  thrust::sort(keys.begin(), keys.end());
  equal(sorted, host(keys, count));
  keys = in;
  thrust::sequence(more.begin(), more.end());
  thrust::sort_by_key(keys.begin(), keys.end(), more.begin());
  equal(values[more[99]], sorted[99]);
  keys = in;
  thrust::stable_sort(keys.begin(), keys.end(), ByLastDigit{});
  auto wanted = values;
  std::stable_sort(wanted.begin(), wanted.end(), ByLastDigit{});
  equal(wanted, host(keys, count));
  keys = in;
  thrust::stable_sort_by_key(keys.begin(), keys.end(), more.begin(), ByLastDigit{});
  equal(wanted, host(keys, count));

  // Two sorted sets with much in common.
  std::vector<int> a, b;
  for (int i = 0; i < 12000; ++i) {
    if (i % 2 == 0)
      a.push_back(i);
    if (i % 3 == 0)
      b.push_back(i);
  }
  const thrust::device_vector<int> x(a.begin(), a.end()), y(b.begin(), b.end());
  wanted.assign(a.size() + b.size(), 0);
  std::merge(a.begin(), a.end(), b.begin(), b.end(), wanted.begin());
  thrust::merge(x.begin(), x.end(), y.begin(), y.end(), out.begin());
  equal(wanted, host(out, wanted.size()));
  thrust::merge_by_key(x.begin(), x.end(), y.begin(), y.end(), in.begin(), in.begin(), out.begin(),
                       out_values.begin());
  equal(wanted, host(out, wanted.size()));
  const auto set = [&](auto on_host, auto on_device) {
    wanted.resize(a.size() + b.size());
    wanted.erase(on_host(wanted.begin()), wanted.end());
    equal(static_cast<double>(wanted.size()), static_cast<double>(on_device(out.begin()) - out.begin()));
    equal(wanted, host(out, wanted.size()));
  };
  set([&](auto to) { return std::set_union(a.begin(), a.end(), b.begin(), b.end(), to); },
      [&](auto to) { return thrust::set_union(x.begin(), x.end(), y.begin(), y.end(), to); });
  set([&](auto to) { return std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), to); },
      [&](auto to) { return thrust::set_intersection(x.begin(), x.end(), y.begin(), y.end(), to); });
  set([&](auto to) { return std::set_difference(a.begin(), a.end(), b.begin(), b.end(), to); },
      [&](auto to) { return thrust::set_difference(x.begin(), x.end(), y.begin(), y.end(), to); });
  set([&](auto to) { return std::set_symmetric_difference(a.begin(), a.end(), b.begin(), b.end(), to); },
      [&](auto to) { return thrust::set_symmetric_difference(x.begin(), x.end(), y.begin(), y.end(), to); });
  thrust::set_intersection_by_key(x.begin(), x.end(), y.begin(), y.end(), in.begin(), out.begin(),
                                  out_values.begin());

  thrust::lower_bound(x.begin(), x.end(), y.begin(), y.end(), out.begin());
  equal(static_cast<double>(std::lower_bound(a.begin(), a.end(), b[500]) - a.begin()), out[500]);
  expect(thrust::is_sorted(x.begin(), x.end()));
  return result();
}
