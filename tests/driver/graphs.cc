// Graphs made node by node: their shape, copies of them, their edges.
#include "check.h"

#include <algorithm>

namespace {

std::vector<CUgraphNode> listed(CUresult (*list)(CUgraph, CUgraphNode*, size_t*), CUgraph graph) {
  size_t count = 0;
  OK(list(graph, nullptr, &count));
  std::vector<CUgraphNode> nodes(count);
  OK(list(graph, nodes.data(), &count));
  return nodes;
}

} // namespace

int main() {
  begin();
  const CUfunction add = function(load_kernels(), "add"), twice = function(load_kernels(), "twice");
  CUdeviceptr x = allocate_ints(32), y = allocate_ints(32);
  int three = 3, n = 32;
  void* add_arguments[] = {&x, &three, &n};
  void* twice_arguments[] = {&y, &x, &n};
  CUDA_KERNEL_NODE_PARAMS adding{}, doubling{};
  adding.func = add;
  adding.gridDimX = adding.gridDimY = adding.gridDimZ = adding.blockDimY = adding.blockDimZ = 1;
  adding.blockDimX = 32;
  adding.kernelParams = add_arguments;
  doubling = adding;
  doubling.func = twice;
  doubling.kernelParams = twice_arguments;
  CUDA_MEMSET_NODE_PARAMS zero{};
  zero.dst = x;
  zero.elementSize = 4;
  zero.value = 1;
  zero.width = 32;
  zero.height = 1;
  std::vector<int> got(32, -1);
  CUDA_MEMCPY3D out{};
  out.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  out.srcDevice = y;
  out.dstMemoryType = CU_MEMORYTYPE_HOST;
  out.dstHost = got.data();
  out.WidthInBytes = 128;
  out.Height = out.Depth = 1;

  CUgraph graph = nullptr;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphCreate(&graph, 1));
  OK(cuGraphCreate(&graph, 0));
  CUgraphNode fill = nullptr, first = nullptr, second = nullptr, copy = nullptr, last = nullptr;
  OK(cuGraphAddMemcpyNode(&copy, graph, nullptr, 0, &out, nullptr)); // in no order
  OK(cuGraphAddKernelNode_v2(&second, graph, nullptr, 0, &doubling));
  OK(cuGraphAddMemsetNode(&fill, graph, nullptr, 0, &zero, nullptr));
  OK(cuGraphAddKernelNode_v2(&first, graph, &fill, 1, &adding));
  OK(cuGraphAddEmptyNode(&last, graph, &copy, 1));
  const CUgraphNode from[] = {first, second}, to[] = {second, copy};
  OK(cuGraphAddDependencies(graph, from, to, 1));
  CUgraphEdgeData plain{};
  OK(cuGraphAddDependencies_v2(graph, from + 1, to + 1, &plain, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies(graph, from, to, 1)); // it is there
  plain.type = 1;
  plain.from_port = 1; // programmatic: between kernels alone
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies_v2(graph, &fill, &last, &plain, 1));

  EQUAL(size_t{5}, listed(cuGraphGetNodes, graph).size());
  CHECK(listed(cuGraphGetRootNodes, graph) == std::vector<CUgraphNode>{fill});
  CUgraphNodeType type{};
  OK(cuGraphNodeGetType(fill, &type));
  EQUAL(CU_GRAPH_NODE_TYPE_MEMSET, type);
  OK(cuGraphNodeGetType(copy, &type));
  EQUAL(CU_GRAPH_NODE_TYPE_MEMCPY, type);
  CUgraphNode its = nullptr;
  size_t count = 1;
  OK(cuGraphNodeGetDependencies(second, &its, &count));
  CHECK(count == 1 && its == first);
  count = 1;
  OK(cuGraphNodeGetDependencies_v2(second, &its, nullptr, &count));
  count = 1;
  OK(cuGraphNodeGetDependentNodes_v2(second, &its, nullptr, &count));
  CHECK(count == 1 && its == copy);
  std::vector<CUgraphNode> begins(8), ends(8);
  std::vector<CUgraphEdgeData> edges(8);
  count = 8;
  OK(cuGraphGetEdges_v2(graph, begins.data(), ends.data(), edges.data(), &count));
  EQUAL(size_t{4}, count);
  CHECK(begins[5] == nullptr);

  CUgraphExec exec = nullptr;
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, 0));
  const auto runs = [&](CUgraph which) {
    std::fill(got.begin(), got.end(), -1);
    OK(cuGraphInstantiateWithFlags(&exec, which, 0));
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuGraphExecDestroy(exec));
    return got[31];
  };
  EQUAL(8, runs(graph));
  CUgraph clone = nullptr;
  OK(cuGraphClone(&clone, graph));
  CUgraphNode its_first = nullptr;
  OK(cuGraphNodeFindInClone(&its_first, first, clone));
  CHECK(its_first != first);
  OK(cuGraphDestroyNode(its_first));
  EQUAL(size_t{4}, listed(cuGraphGetNodes, clone).size());
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone(&its_first, first, clone));
  CUgraphNode clone_fill = nullptr, clone_second = nullptr;
  OK(cuGraphNodeFindInClone(&clone_fill, fill, clone));
  OK(cuGraphNodeFindInClone(&clone_second, second, clone));
  OK(cuGraphAddDependencies(clone, &clone_fill, &clone_second, 1));
  EQUAL(2, runs(clone)); // 2 * 1, without the addition
  OK(cuGraphRemoveDependencies(clone, &clone_fill, &clone_second, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuGraphRemoveDependencies_v2(clone, &clone_fill, &clone_second, nullptr, 1));

  // A circle is no graph that can run.
  OK(cuGraphAddDependencies(graph, &last, &fill, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 0));
  CUDA_GRAPH_INSTANTIATE_PARAMS parameters{};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithParams(&exec, graph, &parameters));
  EQUAL(CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE, parameters.result_out);
  OK(cuGraphRemoveDependencies(graph, &last, &fill, 1));
  OK(cuGraphInstantiateWithParams(&exec, graph, &parameters));
  EQUAL(CUDA_GRAPH_INSTANTIATE_SUCCESS, parameters.result_out);
  cuuint64_t flags = 9;
  OK(cuGraphExecGetFlags(exec, &flags));
  EQUAL(0u, flags);
  char log[8] = "?";
  OK(cuGraphInstantiate_v2(&exec, graph, &its, log, sizeof log));
  OK(cuGraphInstantiate(&exec, graph, nullptr, nullptr, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags(&exec, graph, 1ull << 40));

  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&its, graph, &clone_fill, 1)); // another graph's
  const CUgraphNode same_twice[] = {first, first};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&its, graph, same_twice, 2));
  OK(cuGraphDestroy(graph));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy(graph));
  if (!on_gpu())
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetType(fill, &type));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode(&its, graph, nullptr, 0));
  OK(cuGraphLaunch(exec, stream)); // which is a copy
  OK(cuStreamSynchronize(stream));
  EQUAL(8, got[31]);
  return result();
}
