// Launches that are refused at the call, and those that are not.
#include "record.h"

namespace record {
namespace {

void sizes() {
  begin();
  const CUmodule module = kernels();
  const CUfunction kernel = function(module, "nothing"), bounded = function(module, "bounded"),
                   shared = function(module, "statically_shared");
  CUdeviceptr out = device_bytes(1 << 16);
  void* arguments[] = {&out};
  const auto start = [&](CUfunction which, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned bytes) {
    return cuLaunchKernel(which, gx, gy, gz, bx, by, bz, bytes, nullptr, arguments, nullptr);
  };
  SAY(start(kernel, 1, 1, 1, 1024, 1, 1, 0));
  SAY(start(kernel, 0, 1, 1, 32, 1, 1, 0));
  SAY(start(kernel, 1, 0, 1, 32, 1, 1, 0));
  SAY(start(kernel, 1, 1, 0, 32, 1, 1, 0));
  SAY(start(kernel, 1, 1, 1, 0, 1, 1, 0));
  SAY(start(kernel, 1, 1, 1, 1, 0, 1, 0));
  SAY(start(kernel, 1, 1, 1, 1, 1, 0, 0));
  SAY(start(kernel, 1, 1, 1, 1025, 1, 1, 0));
  SAY(start(kernel, 1, 1, 1, 2000, 1, 1, 0));
  SAY(start(kernel, 1, 1, 1, 1, 1025, 1, 0));
  SAY(start(kernel, 1, 1, 1, 1, 1, 65, 0));
  SAY(start(kernel, 1, 1, 1, 64, 32, 1, 0));
  SAY(start(kernel, 2147483647u, 65536, 1, 1, 1, 1, 0));
  SAY(start(kernel, 2147483648u, 1, 1, 1, 1, 1, 0));
  SAY(start(kernel, 1, 65536, 1, 1, 1, 1, 0));
  SAY(start(kernel, 1, 1, 65536, 1, 1, 1, 0));
  SAY(start(kernel, 1, 65535, 1, 1, 1, 1, 0));
  SAY(start(kernel, 1, 1, 1, 32, 1, 1, 49152));
  SAY(start(kernel, 1, 1, 1, 32, 1, 1, 49153));
  SAY(start(shared, 1, 1, 1, 32, 1, 1, 48128));
  SAY(start(shared, 1, 1, 1, 32, 1, 1, 48129));
  SAY(start(bounded, 1, 1, 1, 128, 1, 1, 0));
  SAY(start(bounded, 1, 1, 1, 129, 1, 1, 0));
  SAY(start(nullptr, 1, 1, 1, 1, 1, 1, 0));
  SAY(start(nullptr, 0, 1, 1, 1, 1, 1, 0));
  SAY(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  SAY(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
  SAY(start(kernel, 1, 1, 1, 32, 1, 1, 232448));
  SAY(start(kernel, 1, 1, 1, 32, 1, 1, 232449));
  SAY(cuCtxSynchronize());
}

void wrong_handles() {
  begin();
  const CUfunction kernel = function(kernels(), "nothing");
  SAY(cuLaunchKernel(nowhere<CUfunc_st>(), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  SAY(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nowhere<CUstream_st>(), nullptr, nullptr));
  SAY(cuLaunchKernel(reinterpret_cast<CUfunction>(16), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  SAY(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, reinterpret_cast<CUstream>(16), nullptr, nullptr));
}

void arguments() {
  begin();
  const CUmodule module = kernels();
  const CUfunction kernel = function(module, "add");
  CUdeviceptr x = device_bytes(4096);
  int a = 1, n = 1;
  void* pointers[] = {&x, &a, &n};
  struct {
    CUdeviceptr x;
    int a, n;
  } buffer{x, 1, 1};
  size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  const auto start = [&](void** list, void** more) {
    return cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, list, more);
  };
  SAY(start(pointers, nullptr));
  SAY(start(nullptr, extra));
  SAY(start(pointers, extra));
  SAY(start(nullptr, nullptr));
  bytes = 8;
  SAY(start(nullptr, extra));
  bytes = 12;
  SAY(start(nullptr, extra));
  bytes = 17;
  SAY(start(nullptr, extra));
  bytes = 4000;
  SAY(start(nullptr, extra));
  bytes = 0;
  SAY(start(nullptr, extra));
  void* nothing[] = {CU_LAUNCH_PARAM_END};
  SAY(start(nullptr, nothing));
  void* unknown[] = {reinterpret_cast<void*>(77), &buffer, CU_LAUNCH_PARAM_END};
  SAY(start(nullptr, unknown));
  bytes = sizeof buffer;
  void* no_size[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_END};
  SAY(start(nullptr, no_size));
  SAY(cuCtxSynchronize());
  void* with_null[] = {&x, nullptr, &n};
  SAY(start(with_null, nullptr));
  SAY(cuCtxSynchronize());
}

void attributes() {
  begin();
  const CUmodule module = kernels();
  const CUfunction ranks = function(module, "cluster_ranks"), declared = function(module, "declared_cluster");
  CUdeviceptr out = device_bytes(1 << 16);
  void* arguments[] = {&out};
  CUlaunchAttribute attribute{};
  CUlaunchConfig config{};
  config.gridDimX = 64;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 32;
  config.attrs = &attribute;
  config.numAttrs = 1;
  const auto cluster = [&](CUfunction kernel, unsigned x, unsigned y, unsigned z) {
    attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    attribute.value = {};
    attribute.value.clusterDim.x = x;
    attribute.value.clusterDim.y = y;
    attribute.value.clusterDim.z = z;
    return cuLaunchKernelEx(&config, kernel, arguments, nullptr);
  };
  SAY(cluster(ranks, 4, 1, 1));
  SAY(cluster(ranks, 0, 1, 1));
  SAY(cluster(ranks, 0, 0, 0));
  SAY(cluster(ranks, 5, 1, 1));
  SAY(cluster(ranks, 1, 2, 1));
  SAY(cluster(ranks, 8, 1, 1));
  SAY(cluster(ranks, 16, 1, 1));
  SAY(cluster(ranks, 32, 1, 1));
  SAY(cluster(declared, 2, 1, 1));
  SAY(cluster(declared, 4, 1, 1));
  config.numAttrs = 0;
  SAY(cuLaunchKernelEx(&config, declared, arguments, nullptr));
  config.gridDimX = 3;
  SAY(cuLaunchKernelEx(&config, declared, arguments, nullptr));
  config.gridDimX = 64;
  config.numAttrs = 1;
  SAY(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1));
  SAY(cluster(ranks, 16, 1, 1));
  SAY(cluster(ranks, 32, 1, 1));
  SAY(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, 2));
  SAY(cluster(ranks, 4, 1, 1));
  SAY(cluster(ranks, 2, 1, 1));
  SAY(cuLaunchKernel(ranks, 64, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  SAY(cuLaunchKernel(ranks, 63, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  SAY(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT, 1));
  SAY(cuFuncSetAttribute(ranks, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH, 1));
  SAY(cuLaunchKernel(ranks, 64, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  SAY(cuLaunchKernel(ranks, 63, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
  SAY(cluster(ranks, 4, 1, 1));
  SAY(cluster(ranks, 2, 1, 1));
  const CUfunction other = function(module, "indices");
  for (int id = 0; id < 20; ++id) {
    if (id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT || id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
      continue; // these need an event
    const Turn turn(std::to_string(id) + " all zeros");
    attribute.id = static_cast<CUlaunchAttributeID>(id);
    attribute.value = {};
    SAY(cuLaunchKernelEx(&config, other, arguments, nullptr));
  }
  for (const int priority : {-100, -5, 0, 5}) {
    const Turn turn("priority " + std::to_string(priority));
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attribute.value = {};
    attribute.value.priority = priority;
    SAY(cuLaunchKernelEx(&config, other, arguments, nullptr));
  }
  attribute.id = static_cast<CUlaunchAttributeID>(99);
  SAY(cuLaunchKernelEx(&config, other, arguments, nullptr));
  SAY(cuLaunchKernelEx(nullptr, other, arguments, nullptr));
  config.attrs = nullptr;
  SAY(cuLaunchKernelEx(&config, other, arguments, nullptr));
  SAY(cuCtxSynchronize());
}

void cooperative() {
  begin();
  const CUmodule module = kernels();
  const CUfunction sum = function(module, "grid_sum");
  CUdeviceptr partial = device_bytes(1 << 16), out = device_bytes(4);
  void* arguments[] = {&partial, &out};
  const auto start = [&](unsigned blocks, unsigned threads, unsigned bytes) {
    return cuLaunchCooperativeKernel(sum, blocks, 1, 1, threads, 1, 1, bytes, nullptr, arguments);
  };
  SAY(start(64, 32, 0));
  SAY(start(264, 1024, 0));
  SAY(start(265, 1024, 0));
  SAY(start(132 * 32, 32, 0));
  SAY(start(132 * 32 + 1, 32, 0));
  SAY(start(1, 2000, 0));
  SAY(start(0, 32, 0));
  SAY(start(132 * 4, 32, 49152));
  SAY(start(132 * 4 + 1, 32, 49152));
  SAY(cuLaunchCooperativeKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments));
  SAY(cuLaunchHostFunc(nullptr, nullptr, nullptr));
  SAY(cuCtxSynchronize());
}

} // namespace

std::vector<Section> launch_sections() {
  return {{"launch: sizes", sizes},
          {"launch: handles", wrong_handles},
          {"launch: arguments", arguments},
          {"launch: attributes", attributes},
          {"launch: cooperative", cooperative}};
}

} // namespace record
