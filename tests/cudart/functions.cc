// Kernels: attributes, parameters, names, occupancy.
#include "check.h"

int main() {
  cudaFuncAttributes a{};
  OK(cudaFuncGetAttributes(&a, &bounded));
  EQUAL(128, a.maxThreadsPerBlock);
  EQUAL(90, a.ptxVersion);
  EQUAL(90, a.binaryVersion);
  OK(cudaFuncGetAttributes(&a, &indices));
  EQUAL(1024, a.maxThreadsPerBlock);
  FAILS(cudaErrorSymbolNotFound, cudaFuncGetAttributes(&a, &no_such_kernel));

  // More dynamic shared memory than without asking.
  int* x = allocate(64);
  FAILS(cudaErrorInvalidValue, launch(reverse, 1, 64, 100000, nullptr, x));
  OK(cudaFuncSetAttribute(&reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, 100000));
  OK(launch(reverse, 1, 64, 100000, nullptr, x));
  OK(cudaFuncGetAttributes(&a, &reverse));
  EQUAL(100000, a.maxDynamicSharedSizeBytes);
  cudaKernel_t kernel = nullptr;
  OK(cudaGetKernel(&kernel, &reverse));
  OK(cudaKernelSetAttributeForDevice(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 50000, 0));
  OK(cudaFuncGetAttributes(&a, kernel));
  EQUAL(50000, a.maxDynamicSharedSizeBytes);
  OK(cudaFuncSetCacheConfig(&reverse, cudaFuncCachePreferShared));
  OK(cudaFuncSetSharedMemConfig(&reverse, cudaSharedMemBankSizeEightByte));

  const char* name = nullptr;
  OK(cudaFuncGetName(&name, &indices));
  EQUAL(std::string("indices"), name);
  OK(cudaFuncGetName(&name, kernel));
  EQUAL(std::string("reverse"), name);
  size_t offset = 9, bytes = 9;
  OK(cudaFuncGetParamInfo(&add, 1, &offset, &bytes));
  CHECK(offset == 8 && bytes == 4);
  FAILS(cudaErrorInvalidValue, cudaFuncGetParamInfo(&add, 3, &offset, &bytes));

  int blocks = 0;
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &indices, 256, 0));
  EQUAL(8, blocks);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, &reverse, 64, 50000,
                                                            cudaOccupancyDisableCachingOverride));
  EQUAL(4, blocks);
  OK(cudaOccupancyAvailableDynamicSMemPerBlock(&bytes, &reverse, 2, 64));
  CHECK(bytes > 0);
  cudaLaunchConfig_t config{};
  config.gridDim = 64;
  config.blockDim = 256;
  int size = 0;
  OK(cudaOccupancyMaxPotentialClusterSize(&size, &cluster_ranks, &config));
  EQUAL(8, size);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  config.attrs = &cluster;
  config.numAttrs = 1;
  OK(cudaOccupancyMaxActiveClusters(&size, &cluster_ranks, &config));
  CHECK(size > 0);
  return result();
}
