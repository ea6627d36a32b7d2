// Launches: by <<<>>>, by address, by handle, cooperative, with attributes; and what is refused.
#include "check.h"

#include <algorithm>
#include <numeric>

namespace {

std::vector<int> first(int count) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 0);
  return values;
}

void by_address_and_handle(int* x) {
  void* arguments[] = {&x};
  OK(cudaMemset(x, 0, 256));
  OK(cudaLaunchKernel(&indices, 2, 32, arguments, 0, nullptr));
  CHECK(read_ints(x, 64) == first(64));
  cudaKernel_t kernel = nullptr;
  OK(cudaGetKernel(&kernel, &indices));
  OK(cudaMemset(x, 0, 256));
  OK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), 2, 32, arguments, 0, nullptr));
  CHECK(read_ints(x, 64) == first(64));
  cudaFunction_t function = nullptr;
  OK(cudaGetFuncBySymbol(&function, &indices));
  OK(cudaMemset(x, 0, 256));
  OK(cudaLaunchKernel(reinterpret_cast<const void*>(function), 2, 32, arguments, 0, nullptr));
  CHECK(read_ints(x, 64) == first(64));
}

void with_attributes(int* x) {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config{};
  config.gridDim = 8;
  config.blockDim = 1;
  config.attrs = attributes;
  config.numAttrs = 1;
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim = {4, 1, 1};
  void* arguments[] = {&x};
  OK(cudaLaunchKernelExC(&config, &cluster_ranks, arguments));
  CHECK(read_ints(x, 16) == std::vector<int>({0, 4, 1, 4, 2, 4, 3, 4, 0, 4, 1, 4, 2, 4, 3, 4}));
  attributes[0].val.clusterDim = {3, 1, 1}; // does not divide the grid
  CHECK(cudaLaunchKernelExC(&config, &cluster_ranks, arguments) != cudaSuccess);
  CHECK(cudaGetLastError() != cudaSuccess);

  attributes[0].id = cudaLaunchAttributePriority;
  attributes[0].val.priority = -1;
  attributes[1].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attributes[1].val.programmaticStreamSerializationAllowed = 1;
  config.numAttrs = 2;
  OK(cudaLaunchKernelExC(&config, &indices, arguments));
  CHECK(read_ints(x, 8) == first(8));
  OK(launch(declared_cluster, 4, 1, 0, nullptr, x));
  CHECK(read_ints(x, 4) == std::vector<int>({0, 1, 0, 1}));
}

void cooperative(int* partial, int* sum) {
  void* arguments[] = {&partial, &sum};
  OK(cudaLaunchCooperativeKernel(&grid_sum, 16, 32, arguments, 0, nullptr));
  EQUAL(136, read_ints(sum, 1)[0]);
  OK(cudaLaunchCooperativeKernel_ptsz(&grid_sum, 4, 32, arguments, 0, nullptr));
  OK(cudaStreamSynchronize(cudaStreamPerThread));
  EQUAL(10, read_ints(sum, 1)[0]);
  FAILS(cudaErrorCooperativeLaunchTooLarge,
        cudaLaunchCooperativeKernel(&grid_sum, 100000, 32, arguments, 0, nullptr));
  FAILS(cudaErrorCooperativeLaunchTooLarge, cudaGetLastError());
}

} // namespace

int main() {
  int* x = allocate(64);
  OK(launch(indices, 2, 32, 0, nullptr, x));
  CHECK(read_ints(x, 64) == first(64));
  OK(launch(reverse, 1, 64, 256, nullptr, x));
  EQUAL(63, read_ints(x, 64)[0]);
  OK(launch(nothing, dim3(3, 2, 1), dim3(4, 2, 2), 0, nullptr));
  by_address_and_handle(x);
  with_attributes(x);
  cooperative(x, x + 32);

  // What cannot be is the call's error, and the thread's last one.
  FAILS(cudaErrorInvalidValue, launch(indices, 1, 2000, 0, nullptr, x));
  FAILS(cudaErrorInvalidValue, cudaPeekAtLastError());
  FAILS(cudaErrorInvalidValue, cudaGetLastError());
  OK(cudaGetLastError());
  FAILS(cudaErrorSymbolNotFound, launch(no_such_kernel, 1, 1, 0, nullptr));
  FAILS(cudaErrorInvalidDeviceFunction, cudaLaunchKernel(nullptr, 1, 1, nullptr, 0, nullptr));
  FAILS(cudaErrorInvalidResourceHandle, cudaLaunchKernel(&failures, 1, 1, nullptr, 0, nullptr));
  size_t shared_bytes = 0;
  cudaStream_t stream = nullptr;
  dim3 grid, block;
  FAILS(cudaErrorMissingConfiguration, __cudaPopCallConfiguration(&grid, &block, &shared_bytes, &stream));
  OK(cudaDeviceSynchronize());
  return result();
}
