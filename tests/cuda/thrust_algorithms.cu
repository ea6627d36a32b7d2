// thrust: transformations, reductions, scans, compaction, iterators that compute.
#include "check.h"

#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/unique.h>

struct Square {
  __host__ __device__ int operator()(int v) const { return v * v; }
};
struct IsPositive {
  __host__ __device__ bool operator()(int v) const { return v > 0; }
};
struct Cube {
  __host__ __device__ long long operator()(long long v) const { return v * v * v; }
};

int main() {
  const int count = 5000;
  const auto values = small_numbers<int>(count, -20, 20);
  thrust::device_vector<int> x(values.begin(), values.end()), y(count);
  thrust::transform(x.begin(), x.end(), y.begin(), Square{});
  const int squares = thrust::reduce(y.begin(), y.end());
  const int same = thrust::transform_reduce(
      x.begin(), x.end(), Square{}, 0, thrust::plus<int>());
  const auto positive = IsPositive{};
  const int positives = static_cast<int>(thrust::count_if(x.begin(), x.end(), positive));
  int wanted_squares = 0, wanted_positives = 0, sum = 0;
  std::vector<int> prefix, kept, runs;
  for (const int v : values) {
    wanted_squares += v * v;
    wanted_positives += v > 0;
    prefix.push_back(sum);
    sum += v;
    if (v > 0)
      kept.push_back(v);
    if (runs.empty() || runs.back() != v)
      runs.push_back(v);
  }
  equal(wanted_squares, squares);
  equal(wanted_squares, same);
  equal(wanted_positives, positives);

  std::vector<int> got(count);
  thrust::exclusive_scan(x.begin(), x.end(), y.begin());
  thrust::copy(y.begin(), y.end(), got.begin());
  equal(prefix, got);
  auto end = thrust::copy_if(thrust::device, x.begin(), x.end(), y.begin(), positive);
  got.resize(end - y.begin());
  thrust::copy(y.begin(), end, got.begin());
  equal(kept, got);
  end = thrust::unique_copy(x.begin(), x.end(), y.begin());
  got.resize(end - y.begin());
  thrust::copy(y.begin(), end, got.begin());
  equal(runs, got);

  const auto cubes = thrust::make_transform_iterator(thrust::counting_iterator<long long>(1),
                                                     Cube{});
  expect(thrust::reduce(thrust::device, cubes, cubes + 100) == 5050ll * 5050);
  return result();
}
