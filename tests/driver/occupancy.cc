// How many blocks an SM holds: by threads, shared memory and the limit of blocks.
#include "check.h"

namespace {

size_t sixteen_a_thread(int threads) {
  return 16 * static_cast<size_t>(threads);
}

} // namespace

int main() {
  begin();
  const CUmodule module = load_kernels();
  const CUfunction reverse = function(module, "reverse"), bounded = function(module, "bounded"),
                   ranks = function(module, "cluster_ranks");
  int blocks = 0;
  const auto fits = [&](CUfunction kernel, int threads, size_t shared) {
    blocks = -1;
    OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, shared));
    return blocks;
  };
  EQUAL(2, fits(reverse, 1024, 0));
  EQUAL(16, fits(reverse, 128, 0));
  EQUAL(32, fits(reverse, 32, 0));
  EQUAL(32, fits(reverse, 33, 0));          // 64 threads each
  EQUAL(0, fits(reverse, 128, 100 * 1024)); // more than a kernel has unasked
  OK(cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 227 * 1024));
  EQUAL(2, fits(reverse, 128, 100 * 1024));
  EQUAL(1, fits(reverse, 128, 227 * 1024));
  EQUAL(0, fits(reverse, 128, 228 * 1024));
  EQUAL(12, fits(bounded, 129, 0)); // which is not asked whether it may be launched
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(&blocks, reverse, 256, 0,
                                                          CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE));
  EQUAL(8, blocks);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, reverse, 0, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, reverse, 32, 0));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nullptr, 32, 0));

  int grid = 0, block = 0;
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, reverse, nullptr, 0, 0));
  EQUAL(1024, block);
  EQUAL(2 * 132, grid);
  OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, bounded, nullptr, 0, 0));
  EQUAL(128, block);
  OK(cuOccupancyMaxPotentialBlockSizeWithFlags(&grid, &block, reverse, sixteen_a_thread, 0, 500, 0));
  CHECK(block <= 500);
  size_t bytes = 0;
  OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, reverse, 2, 128));
  EQUAL(size_t{114} * 1024, bytes);
  OK(cuOccupancyAvailableDynamicSMemPerBlock(&bytes, reverse, 1, 128));
  EQUAL(size_t{227} * 1024, bytes);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock(&bytes, reverse, 40, 128));

  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = 4;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  CUlaunchConfig config{};
  config.gridDimX = 64;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 1024;
  config.attrs = &attribute;
  config.numAttrs = 1;
  int clusters = 0;
  OK(cuOccupancyMaxActiveClusters(&clusters, ranks, &config));
  EQUAL(on_gpu() ? 62 : 66, clusters); // GPCs of a real one are not all of a size
  attribute.value.clusterDim.x = 16;
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuOccupancyMaxActiveClusters(&clusters, ranks, &config));
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, cuOccupancyMaxPotentialClusterSize(&clusters, ranks, &config));
  config.numAttrs = 0;
  OK(cuOccupancyMaxPotentialClusterSize(&clusters, ranks, &config));
  EQUAL(8, clusters);
  OK(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  OK(cuOccupancyMaxPotentialClusterSize(&clusters, ranks, &config));
  EQUAL(16, clusters);
  return result();
}
