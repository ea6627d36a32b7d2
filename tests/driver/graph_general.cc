// Nodes of any type by one function, added and changed.
#include "check.h"

namespace {

void count(void* calls) {
  ++*static_cast<int*>(calls);
}

CUgraphNodeParams of_type(CUgraphNodeType type) {
  CUgraphNodeParams parameters;
  std::memset(&parameters, 0, sizeof parameters);
  parameters.type = type;
  return parameters;
}

} // namespace

int main() {
  const CUcontext context = begin();
  const CUfunction add = function(load_kernels(), "add");
  CUdeviceptr x = allocate_ints(64);
  CUgraph graph = nullptr;
  OK(cuGraphCreate(&graph, 0));
  CUgraphNode fills = nullptr, adds = nullptr, copies = nullptr, calls = nullptr, nothing = nullptr,
              wrong = nullptr;

  CUgraphNodeParams fill = of_type(CU_GRAPH_NODE_TYPE_MEMSET);
  fill.memset.dst = x;
  fill.memset.value = 7;
  fill.memset.elementSize = 4;
  fill.memset.width = 64;
  fill.memset.height = 1;
  fill.memset.ctx = context;
  OK(cuGraphAddNode(&fills, graph, nullptr, 0, &fill));

  int by = 1, n = 64, called = 0;
  void* arguments[] = {&x, &by, &n};
  CUgraphNodeParams kernel = of_type(CU_GRAPH_NODE_TYPE_KERNEL);
  kernel.kernel.func = add;
  kernel.kernel.gridDimX = kernel.kernel.gridDimY = kernel.kernel.gridDimZ = 1;
  kernel.kernel.blockDimX = 64;
  kernel.kernel.blockDimY = kernel.kernel.blockDimZ = 1;
  kernel.kernel.kernelParams = arguments;
  OK(cuGraphAddNode_v2(&adds, graph, &fills, nullptr, 1, &kernel));

  std::vector<int> back(64, 0);
  CUgraphNodeParams copy = of_type(CU_GRAPH_NODE_TYPE_MEMCPY);
  copy.memcpy.copyCtx = context;
  copy.memcpy.copyParams.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.memcpy.copyParams.srcDevice = x;
  copy.memcpy.copyParams.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.memcpy.copyParams.dstHost = back.data();
  copy.memcpy.copyParams.WidthInBytes = 256;
  copy.memcpy.copyParams.Height = copy.memcpy.copyParams.Depth = 1;
  OK(cuGraphAddNode_v2(&copies, graph, &adds, nullptr, 1, &copy));

  CUgraphNodeParams call = of_type(CU_GRAPH_NODE_TYPE_HOST);
  call.host.fn = count;
  call.host.userData = &called;
  OK(cuGraphAddNode_v2(&calls, graph, &copies, nullptr, 1, &call));
  CUgraphNodeParams empty = of_type(CU_GRAPH_NODE_TYPE_EMPTY);
  OK(cuGraphAddNode_v2(&nothing, graph, &calls, nullptr, 1, &empty));
  CUevent event = nullptr;
  OK(cuEventCreate(&event, 0));
  CUgraphNodeParams records = of_type(CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  records.eventRecord.event = event;
  OK(cuGraphAddNode_v2(&wrong, graph, &nothing, nullptr, 1, &records));

  CUgraphExec exec = nullptr;
  const auto runs = [&] {
    OK(cuGraphLaunch(exec, nullptr));
    OK(cuCtxSynchronize());
    return back[63];
  };
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  EQUAL(8, runs());
  EQUAL(1, called);
  OK(cuEventQuery(event));
  by = 30;
  OK(cuGraphExecNodeSetParams(exec, adds, &kernel));
  EQUAL(37, runs());
  fill.memset.value = 100;
  OK(cuGraphNodeSetParams(fills, &fill));
  EQUAL(37, runs()); // which is a copy
  OK(cuGraphExecNodeSetParams(exec, fills, &fill));
  EQUAL(130, runs());
  EQUAL(4, called);

  // A programmatic edge, which only kernels have.
  CUgraph two = nullptr;
  CUgraphNode before = nullptr, behind = nullptr;
  const CUgraphEdgeData edge = {.from_port = 1, .to_port = 0, .type = 1, .reserved = {}};
  OK(cuGraphCreate(&two, 0));
  OK(cuGraphAddNode_v2(&before, two, nullptr, nullptr, 0, &kernel));
  OK(cuGraphAddNode_v2(&behind, two, &before, &edge, 1, &kernel));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode_v2(&wrong, two, &behind, &edge, 1, &empty));
  OK(cuGraphInstantiateWithFlags(&exec, two, 0));
  runs();
  OK(cuMemcpyDtoH_v2(back.data(), x, 256));
  EQUAL(190, back[63]); // 130 + 30 + 30

  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetParams(fills, &kernel)); // of another type
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode_v2(&wrong, graph, nullptr, nullptr, 0, nullptr));
  kernel.reserved2 = 1;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode_v2(&wrong, graph, nullptr, nullptr, 0, &kernel));
  call.host.fn = nullptr;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode_v2(&wrong, graph, nullptr, nullptr, 0, &call));
  CUgraphNodeParams unknown = of_type(static_cast<CUgraphNodeType>(77));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode_v2(&wrong, graph, nullptr, nullptr, 0, &unknown));
  return result();
}
