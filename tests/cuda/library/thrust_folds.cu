// thrust: folds, scans, compaction, permutations.
// nvcc: -DTHRUST_FORCE_32_BIT_OFFSET_TYPE
#include "../check.h"

#include <thrust/adjacent_difference.h>
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/extrema.h>
#include <thrust/find.h>
#include <thrust/gather.h>
#include <thrust/inner_product.h>
#include <thrust/partition.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/transform.h>
#include <thrust/unique.h>

#include <algorithm>
#include <numeric>

struct IsEven {
  __host__ __device__ bool operator()(int x) const { return x % 2 == 0; }
};

template <class T>
std::vector<T> host(const thrust::device_vector<T>& from, size_t size) {
  std::vector<T> values(size);
  thrust::copy(from.begin(), from.begin() + static_cast<std::ptrdiff_t>(size), values.begin());
  return values;
}

int main() {
  const int count = 24000;
  const auto values = small_numbers<int>(count, 0, 30);
  std::vector<int> keys(count);
  for (int i = 0; i < count; ++i)
    keys[i] = i / 5 + (i % 7 == 0);
  const thrust::device_vector<int> in(values.begin(), values.end()), key(keys.begin(), keys.end());
  thrust::device_vector<int> out(count), more(count), work(count);

  equal(std::accumulate(values.begin(), values.end(), 0), thrust::reduce(in.begin(), in.end()));
  equal(std::inner_product(values.begin(), values.end(), keys.begin(), 0),
        thrust::inner_product(in.begin(), in.end(), key.begin(), 0));
  const auto extremes = thrust::minmax_element(in.begin(), in.end());
  equal(0, *extremes.first);
  equal(static_cast<double>(std::max_element(values.begin(), values.end()) - values.begin()),
        static_cast<double>(extremes.second - in.begin()));
  equal(static_cast<double>(std::find(values.begin(), values.end(), 17) - values.begin()),
        static_cast<double>(thrust::find(in.begin(), in.end(), 17) - in.begin()));

  std::vector<int> wanted(count);
  thrust::inclusive_scan(in.begin(), in.end(), out.begin());
  std::inclusive_scan(values.begin(), values.end(), wanted.begin());
  equal(wanted, host(out, count));
  thrust::exclusive_scan(in.begin(), in.end(), out.begin(), 4);
  std::exclusive_scan(values.begin(), values.end(), wanted.begin(), 4);
  equal(wanted, host(out, count));
  thrust::exclusive_scan_by_key(key.begin(), key.end(), in.begin(), out.begin());
  std::vector<int> sums, unique;
  for (int i = 0; i < count; ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) {
      unique.push_back(keys[i]);
      sums.push_back(0);
    }
    wanted[i] = sums.back();
    sums.back() += values[i];
  }
  equal(wanted, host(out, count));
  const auto ends = thrust::reduce_by_key(key.begin(), key.end(), in.begin(), out.begin(), more.begin());
  equal(static_cast<double>(sums.size()), static_cast<double>(ends.second - more.begin()));
  equal(sums, host(more, sums.size()));

  work = key;
  equal(static_cast<double>(unique.size()),
        static_cast<double>(thrust::unique(work.begin(), work.end()) - work.begin()));
  equal(unique, host(work, unique.size()));
  work = key;
  more = in;
  thrust::unique_by_key(work.begin(), work.end(), more.begin());
  equal(unique, host(work, unique.size()));
  std::vector<int> even, odd;
  for (const int x : values)
    (x % 2 ? odd : even).push_back(x);
  work = in;
  thrust::stable_partition(work.begin(), work.end(), IsEven{});
  wanted = even;
  wanted.insert(wanted.end(), odd.begin(), odd.end());
  equal(wanted, host(work, count));
  work = in;
  equal(static_cast<double>(odd.size()),
        static_cast<double>(thrust::remove_if(work.begin(), work.end(), IsEven{}) - work.begin()));
  equal(odd, host(work, odd.size()));
  thrust::partition_copy(in.begin(), in.end(), out.begin(), more.begin(), IsEven{});
  equal(odd, host(more, odd.size()));
  thrust::copy_if(in.begin(), in.end(), out.begin(), IsEven{});
  equal(even, host(out, even.size()));

  thrust::adjacent_difference(in.begin(), in.end(), out.begin());
  equal(values[999] - values[998], out[999]);
  std::vector<int> order(count);
  for (int i = 0; i < count; ++i)
    order[i] = i * 7 % count; // 7 and 24000 have no divisor in common
  const thrust::device_vector<int> map(order.begin(), order.end());
  thrust::gather(map.begin(), map.end(), in.begin(), out.begin());
  thrust::scatter(out.begin(), out.end(), map.begin(), work.begin());
  equal(values, host(work, count));
  return result();
}
