// thrust: sorts of keys, of pairs, by a comparison, stable; searches in what is sorted.
#include "check.h"

#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/host_vector.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <algorithm>

struct ByLastDigit {
  __host__ __device__ bool operator()(int a, int b) const { return a % 10 < b % 10; }
};

int main() {
  const int count = 3000;
  const auto values = small_numbers<int>(count, 0, 10000);
  thrust::device_vector<int> keys(values.begin(), values.end()), order(count);
  thrust::sequence(order.begin(), order.end());
  thrust::stable_sort_by_key(keys.begin(), keys.end(), order.begin());
  std::vector<int> wanted = values, wanted_order(count);
  for (int i = 0; i < count; ++i)
    wanted_order[i] = i;
  std::stable_sort(wanted.begin(), wanted.end());
  std::stable_sort(wanted_order.begin(), wanted_order.end(), [&](int a, int b) { return values[a] < values[b]; });
  thrust::host_vector<int> got = keys, got_order = order;
  equal(wanted, std::vector<int>(got.begin(), got.end()));
  equal(wanted_order, std::vector<int>(got_order.begin(), got_order.end()));
  equal(std::lower_bound(wanted.begin(), wanted.end(), 5000) - wanted.begin(),
        thrust::lower_bound(keys.begin(), keys.end(), 5000) - keys.begin());

  thrust::stable_sort(keys.begin(), keys.end(), ByLastDigit{});
  std::stable_sort(wanted.begin(), wanted.end(), [](int a, int b) { return a % 10 < b % 10; });
  got = keys;
  equal(wanted, std::vector<int>(got.begin(), got.end()));
  return result();
}
