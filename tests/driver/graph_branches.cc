// Branches of a graph run at the same time; a graph does not run beside itself.
#include "check.h"

int main() {
  begin();
  const CUmodule module = load_kernels();
  const CUfunction add = function(module, "add");
  // One adds in each of four branches, the next to all of them: a diamond, launched often in two streams.
  CUdeviceptr x = allocate_ints(128);
  OK(cuMemsetD32_v2(x, 0, 128));
  CUgraph graph = nullptr;
  OK(cuGraphCreate(&graph, 0));
  CUgraphNode first = nullptr, last = nullptr, branches[4] = {};
  const auto adds = [&](CUgraphNode* node, const std::vector<CUgraphNode>& before, CUdeviceptr to, int by,
                        int n) {
    void* arguments[] = {&to, &by, &n};
    CUDA_KERNEL_NODE_PARAMS kernel{};
    kernel.func = add;
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimY = kernel.blockDimZ = 1;
    kernel.blockDimX = 128;
    kernel.kernelParams = arguments;
    OK(cuGraphAddKernelNode_v2(node, graph, before.data(), before.size(), &kernel));
  };
  adds(&first, {}, x, 1, 128);
  for (int i = 0; i < 4; ++i)
    adds(&branches[i], {first}, x + 128 * i, 10 * i, 32);
  adds(&last, {branches, branches + 4}, x, 100, 128);
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  CUstream a = nullptr, b = nullptr;
  OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
  for (int i = 0; i < 10; ++i)
    OK(cuGraphLaunch(exec, i % 3 ? a : b));
  OK(cuCtxSynchronize());
  const std::vector<int> got = read_ints(x, 128);
  for (int i = 0; i < 4; ++i)
    EQUAL(10 * (101 + 10 * i), got[32 * i]);

  // What waits for a branch has its own beside it: `relay` waits for what another branch writes. Only a GPU
  // with room for all at once runs that, so it is not asked of a real one.
  if (on_gpu())
    return result();
  const CUfunction relay = function(module, "relay");
  CUdeviceptr flags = allocate_ints(4);
  OK(cuMemsetD32_v2(flags, 0, 4));
  CUgraph waiting = nullptr;
  OK(cuGraphCreate(&waiting, 0));
  CUgraphNode root = nullptr, node = nullptr;
  OK(cuGraphAddEmptyNode(&root, waiting, nullptr, 0));
  for (const int from : {2, 1, 0}) { // the last first
    CUdeviceptr in = flags + 4 * from, out = in + 4;
    void* arguments[] = {&in, &out};
    CUDA_KERNEL_NODE_PARAMS kernel{};
    kernel.func = relay;
    kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = 1;
    kernel.blockDimX = kernel.blockDimY = kernel.blockDimZ = 1;
    kernel.kernelParams = arguments;
    OK(cuGraphAddKernelNode_v2(&node, waiting, &root, 1, &kernel));
  }
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = flags;
  fill.value = 5;
  fill.elementSize = 4;
  fill.width = fill.height = 1;
  OK(cuGraphAddMemsetNode(&node, waiting, &root, 1, &fill, nullptr));
  OK(cuGraphInstantiateWithFlags(&exec, waiting, 0));
  OK(cuGraphLaunch(exec, a));
  OK(cuStreamSynchronize(a));
  CHECK(read_ints(flags, 4) == std::vector<int>{5, 6, 7, 8});
  return result();
}
