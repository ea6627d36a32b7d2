// thrust: sorting, reducing, scanning, transforming; CUB's device-wide radix sort and sum.
#include <cub/cub.cuh>

#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/host_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>

#include <algorithm>
#include <cstdio>
#include <vector>

struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};

int with_thrust() {
  thrust::host_vector<int> host(5000);
  unsigned seed = 1;
  for (int& each : host)
    each = (seed = seed * 1664525 + 1013904223) >> 20;
  thrust::device_vector<int> device = host;
  thrust::sort(device.begin(), device.end());
  std::sort(host.begin(), host.end());
  if (thrust::host_vector<int>(device) != host)
    return std::puts("sort is wrong"), 1;
  thrust::device_vector<int> numbers(1000);
  thrust::sequence(numbers.begin(), numbers.end());
  if (thrust::reduce(numbers.begin(), numbers.end()) != 499500)
    return std::puts("reduce is wrong"), 1;
  if (thrust::transform_reduce(numbers.begin(), numbers.end(), Square(), 0, thrust::plus<int>()) != 332833500)
    return std::puts("transform_reduce is wrong"), 1;
  thrust::inclusive_scan(numbers.begin(), numbers.end(), numbers.begin());
  if (numbers[999] != 499500 || numbers[10] != 55)
    return std::puts("scan is wrong"), 1;
  return 0;
}

int with_cub() {
  const int n = 3000;
  std::vector<unsigned> keys(n), values(n), sorted(n), order(n);
  unsigned seed = 7;
  for (int i = 0; i < n; ++i) {
    keys[i] = seed = seed * 1664525 + 1013904223;
    values[i] = i;
  }
  unsigned *k = nullptr, *v = nullptr, *k_out = nullptr, *v_out = nullptr;
  for (unsigned** each : {&k, &v, &k_out, &v_out})
    cudaMalloc(each, n * sizeof(unsigned));
  cudaMemcpy(k, keys.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(v, values.data(), n * 4, cudaMemcpyHostToDevice);
  void* temporary = nullptr;
  size_t bytes = 0;
  cub::DeviceRadixSort::SortPairs(nullptr, bytes, k, k_out, v, v_out, n);
  cudaMalloc(&temporary, bytes);
  if (cub::DeviceRadixSort::SortPairs(temporary, bytes, k, k_out, v, v_out, n) != cudaSuccess)
    return std::puts("the sort fails"), 1;
  cudaMemcpy(sorted.data(), k_out, n * 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(order.data(), v_out, n * 4, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; ++i)
    if (sorted[i] != keys[order[i]] || (i > 0 && sorted[i - 1] > sorted[i]))
      return std::printf("the sort is wrong at %d\n", i), 1;
  cudaFree(temporary);
  bytes = 0;
  cub::DeviceReduce::Sum(nullptr, bytes, v, k_out, n);
  cudaMalloc(&temporary, bytes);
  if (cub::DeviceReduce::Sum(temporary, bytes, v, k_out, n) != cudaSuccess)
    return std::puts("the sum fails"), 1;
  cudaMemcpy(sorted.data(), k_out, 4, cudaMemcpyDeviceToHost);
  if (sorted[0] != n * (n - 1) / 2)
    return std::puts("the sum is wrong"), 1;
  return 0;
}

int main() {
  if (with_thrust() || with_cub())
    return 1;
  std::puts("ok");
}
