// Clusters: declared by the kernel, named by the launch or by an attribute of the function.
#include "check.h"

namespace {

CUresult start(CUfunction kernel, CUdeviceptr out, unsigned blocks, unsigned cluster) {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = cluster;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  CUlaunchConfig config{};
  config.gridDimX = blocks;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 32;
  config.attrs = &attribute;
  config.numAttrs = 1;
  void* arguments[] = {&out};
  return cuLaunchKernelEx(&config, kernel, arguments, nullptr);
}

} // namespace

int main() {
  begin();
  const CUmodule module = load_kernels();
  const CUfunction ranks = function(module, "cluster_ranks"), declared = function(module, "declared_cluster");
  const CUdeviceptr out = allocate_ints(32);
  OK(start(ranks, out, 8, 4));
  CHECK(read_ints(out, 16) == std::vector<int>{0, 4, 1, 4, 2, 4, 3, 4, 0, 4, 1, 4, 2, 4, 3, 4});
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, start(ranks, out, 16, 16)); // not portable
  OK(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  OK(start(ranks, out, 16, 16));
  EQUAL(15, read_ints(out, 32)[30]);
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, start(ranks, out, 32, 32));
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, start(ranks, out, 5, 4));
  OK(launch(declared, 4, 32, nullptr, out));
  CHECK(read_ints(out, 4) == std::vector<int>{0, 1, 0, 1});
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, start(declared, out, 8, 4)); // it says 2
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(declared, 3, 32, nullptr, out));
  OK(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, launch(ranks, 4, 32, nullptr, out)); // all three, or none
  OK(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
  OK(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
  OK(launch(ranks, 4, 32, nullptr, out));
  CHECK(read_ints(out, 8) == std::vector<int>{0, 2, 1, 2, 0, 2, 1, 2});
  FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(declared, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 4));
  return result();
}
