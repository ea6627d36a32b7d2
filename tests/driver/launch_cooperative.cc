// All blocks of a grid wait for each other; a grid that does not fit is refused.
#include "check.h"

int main() {
  begin();
  const CUfunction grid_sum = function(load_kernels(), "grid_sum");
  CUdeviceptr partial = allocate_ints(64), sum = allocate_ints(1);
  void* arguments[] = {&partial, &sum};
  OK(cuLaunchCooperativeKernel(grid_sum, 64, 1, 1, 32, 1, 1, 0, nullptr, arguments));
  EQUAL(64 * 65 / 2, read_ints(sum, 1)[0]);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  CUlaunchConfig config{};
  config.gridDimX = 10;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 32;
  config.attrs = &attribute;
  config.numAttrs = 1;
  OK(cuLaunchKernelEx(&config, grid_sum, arguments, nullptr));
  EQUAL(55, read_ints(sum, 1)[0]);
  int per_sm = 0;
  OK(cuOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, grid_sum, 1024, 0));
  FAILS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
        cuLaunchCooperativeKernel(grid_sum, per_sm * 132 + 1, 1, 1, 1024, 1, 1, 0, nullptr, arguments));
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuLaunchCooperativeKernel(grid_sum, 1, 1, 1, 2000, 1, 1, 0, nullptr, arguments));
  OK(cuCtxSynchronize());
  return result();
}
