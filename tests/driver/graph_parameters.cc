// What nodes do, asked for and changed: in a graph, and in one that is ready to be launched.
#include "check.h"

namespace {

void plus_one(void* number) {
  ++*static_cast<int*>(number);
}
void plus_ten(void* number) {
  *static_cast<int*>(number) += 10;
}

} // namespace

int main() {
  begin();
  const CUmodule module = load_kernels();
  CUdeviceptr x = allocate_ints(32);
  OK(cuMemsetD32_v2(x, 0, 32));
  int by = 1, n = 32, number = 0;
  void* arguments[] = {&x, &by, &n};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = function(module, "add");
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.blockDimX = 32;
  kernel.kernelParams = arguments;
  CUDA_KERNEL_NODE_PARAMS_v1 old{};
  std::memcpy(&old, &kernel, sizeof old);
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUgraphNode adds = nullptr, older = nullptr, fills = nullptr, copies = nullptr, calls = nullptr;
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddKernelNode_v2(&adds, graph, nullptr, 0, &kernel));
  by = 100; // the node has its own copy
  CUDA_KERNEL_NODE_PARAMS got{};
  CUDA_KERNEL_NODE_PARAMS_v1 got_old{};
  OK(cuGraphKernelNodeGetParams_v2(adds, &got));
  EQUAL(1, *static_cast<int*>(got.kernelParams[1]));
  EQUAL(32u, got.blockDimX);
  CHECK(got.func == kernel.func);
  OK(cuGraphKernelNodeGetParams(adds, &got_old));
  EQUAL(32u, got_old.blockDimX);
  OK(cuGraphAddKernelNode(&older, graph, &adds, 1, &old));
  OK(cuGraphDestroyNode(older));
  CUDA_HOST_NODE_PARAMS host{plus_one, &number}, got_host{};
  OK(cuGraphAddHostNode(&calls, graph, &adds, 1, &host));
  OK(cuGraphHostNodeGetParams(calls, &got_host));
  CHECK(got_host.fn == plus_one && got_host.userData == &number);

  CUdeviceptr y = allocate_ints(32);
  CUDA_MEMSET_NODE_PARAMS fill{}, got_fill{};
  fill.dst = y;
  fill.value = 7;
  fill.elementSize = 4;
  fill.width = 32;
  fill.height = 1;
  OK(cuGraphAddMemsetNode(&fills, graph, nullptr, 0, &fill, nullptr));
  OK(cuGraphMemsetNodeGetParams(fills, &got_fill));
  EQUAL(7u, got_fill.value);
  std::vector<int> back(32, 0);
  CUDA_MEMCPY3D copy{}, got_copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = y;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = back.data();
  copy.WidthInBytes = 128;
  copy.Height = copy.Depth = 1;
  OK(cuGraphAddMemcpyNode(&copies, graph, &fills, 1, &copy, nullptr));
  OK(cuGraphMemcpyNodeGetParams(copies, &got_copy));
  EQUAL(size_t{128}, got_copy.WidthInBytes);

  const auto run = [&] {
    OK(cuMemsetD32_v2(x, 0, 32));
    OK(cuGraphLaunch(exec, nullptr));
    OK(cuCtxSynchronize());
    return read_ints(x, 32)[31];
  };
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  EQUAL(1, run());
  EQUAL(1, number);
  EQUAL(7, back[31]);
  // The graph that runs is a copy.
  OK(cuGraphKernelNodeSetParams_v2(adds, &kernel));
  OK(cuGraphKernelNodeSetParams(adds, &old));
  host.fn = plus_ten;
  OK(cuGraphHostNodeSetParams(calls, &host));
  fill.value = 8;
  OK(cuGraphMemsetNodeSetParams(fills, &fill));
  copy.WidthInBytes = 64;
  OK(cuGraphMemcpyNodeSetParams(copies, &copy));
  EQUAL(1, run());
  EQUAL(2, number);
  // Until that is changed.
  OK(cuGraphExecKernelNodeSetParams_v2(exec, adds, &kernel));
  OK(cuGraphExecHostNodeSetParams(exec, calls, &host));
  OK(cuGraphExecMemsetNodeSetParams(exec, fills, &fill, nullptr));
  OK(cuGraphExecMemcpyNodeSetParams(exec, copies, &copy, nullptr));
  EQUAL(100, run());
  EQUAL(12, number);
  EQUAL(8, back[15]);
  EQUAL(7, back[16]);
  by = 50;
  OK(cuGraphExecKernelNodeSetParams(exec, adds, &old));
  EQUAL(50, run());
  unsigned enabled = 9;
  OK(cuGraphNodeSetEnabled(exec, adds, 0));
  OK(cuGraphNodeGetEnabled(exec, adds, &enabled));
  EQUAL(0u, enabled);
  EQUAL(0, run());
  OK(cuGraphNodeSetEnabled(exec, adds, 1));
  EQUAL(50, run());
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetEnabled(exec, calls, 0)); // a function of the host

  CUkernelNodeAttrValue value{};
  value.priority = -2;
  OK(cuGraphKernelNodeSetAttribute(adds, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  OK(cuGraphAddKernelNode_v2(&older, graph, nullptr, 0, &kernel));
  OK(cuGraphKernelNodeCopyAttributes(older, adds));
  value.priority = 0;
  OK(cuGraphKernelNodeGetAttribute(older, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  EQUAL(-2, value.priority);

  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetParams_v2(calls, &got));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecKernelNodeSetParams_v2(exec, older, &kernel)); // made later
  kernel.blockDimX = 5000;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetParams_v2(adds, &kernel));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode_v2(&older, graph, nullptr, 0, &kernel));
  fill.elementSize = 3;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode(&older, graph, nullptr, 0, &fill, nullptr));
  host.fn = nullptr;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode(&older, graph, nullptr, 0, &host));
  return result();
}
