// Memory, events and other graphs as nodes.
#include "check.h"

int main() {
  const CUcontext context = begin();
  const CUfunction add = function(load_kernels(), "add");
  CUgraph graph = nullptr, child = nullptr, found = nullptr;
  OK(cuGraphCreate(&graph, 0));
  CUDA_MEM_ALLOC_NODE_PARAMS allocate{}, got{};
  allocate.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  allocate.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  allocate.bytesize = 128;
  CUgraphNode allocates = nullptr, fills = nullptr, adds = nullptr, copies = nullptr, frees = nullptr;
  OK(cuGraphAddMemAllocNode(&allocates, graph, nullptr, 0, &allocate));
  CHECK(allocate.dptr != 0);
  OK(cuGraphMemAllocNodeGetParams(allocates, &got));
  EQUAL(allocate.dptr, got.dptr);
  CUDA_MEMSET_NODE_PARAMS fill{};
  fill.dst = allocate.dptr;
  fill.value = 2;
  fill.elementSize = 4;
  fill.width = 32;
  fill.height = 1;
  OK(cuGraphAddMemsetNode(&fills, graph, &allocates, 1, &fill, context));

  // A child does the addition.
  int by = 3, n = 32;
  void* arguments[] = {&allocate.dptr, &by, &n};
  CUDA_KERNEL_NODE_PARAMS kernel{};
  kernel.func = add;
  kernel.gridDimX = kernel.gridDimY = kernel.gridDimZ = kernel.blockDimY = kernel.blockDimZ = 1;
  kernel.blockDimX = 32;
  kernel.kernelParams = arguments;
  CUgraphNode inner = nullptr;
  OK(cuGraphCreate(&child, 0));
  OK(cuGraphAddKernelNode_v2(&inner, child, nullptr, 0, &kernel));
  OK(cuGraphAddChildGraphNode(&adds, graph, &fills, 1, child));
  OK(cuGraphChildGraphNodeGetGraph(adds, &found));
  CHECK(found != child); // a copy
  size_t count = 0;
  OK(cuGraphGetNodes(found, nullptr, &count));
  EQUAL(size_t{1}, count);

  std::vector<int> back(32, 0);
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = allocate.dptr;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = back.data();
  copy.WidthInBytes = 128;
  copy.Height = copy.Depth = 1;
  OK(cuGraphAddMemcpyNode(&copies, graph, &adds, 1, &copy, context));
  OK(cuGraphAddMemFreeNode(&frees, graph, &copies, 1, allocate.dptr));
  CUdeviceptr freed = 0;
  OK(cuGraphMemFreeNodeGetParams(frees, &freed));
  EQUAL(allocate.dptr, freed);

  CUevent a = nullptr, b = nullptr, event = nullptr;
  OK(cuEventCreate(&a, 0));
  OK(cuEventCreate(&b, 0));
  CUgraphNode waits = nullptr, records = nullptr;
  OK(cuGraphAddEventWaitNode(&waits, graph, nullptr, 0, a));
  OK(cuGraphAddEventRecordNode(&records, graph, &frees, 1, a));
  OK(cuGraphEventRecordNodeGetEvent(records, &event));
  CHECK(event == a);
  OK(cuGraphEventRecordNodeSetEvent(records, b));
  OK(cuGraphEventRecordNodeGetEvent(records, &event));
  CHECK(event == b);
  OK(cuGraphEventWaitNodeSetEvent(waits, b));
  OK(cuGraphEventWaitNodeGetEvent(waits, &event));
  CHECK(event == b);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphEventWaitNodeGetEvent(records, &event));

  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  OK(cuGraphExecEventRecordNodeSetEvent(exec, records, a));
  OK(cuGraphExecEventWaitNodeSetEvent(exec, waits, a));
  for (int i = 0; i < 3; ++i) {
    std::fill(back.begin(), back.end(), 0);
    OK(cuGraphLaunch(exec, nullptr));
    OK(cuCtxSynchronize());
    EQUAL(5, back[31]);
  }
  OK(cuEventSynchronize(a));
  by = 30;
  OK(cuGraphKernelNodeSetParams_v2(inner, &kernel));
  OK(cuGraphExecChildGraphNodeSetParams(exec, adds, child));
  OK(cuGraphLaunch(exec, nullptr));
  OK(cuCtxSynchronize());
  EQUAL(32, back[31]);

  allocate.bytesize = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode(&allocates, graph, nullptr, 0, &allocate));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode(&frees, graph, nullptr, 0, 0x1234));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddChildGraphNode(&adds, graph, nullptr, 0, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddEventRecordNode(&records, graph, nullptr, 0, nullptr));

  // Memory that a stream allocates while it captures.
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CUdeviceptr x = 0;
  OK(cuMemAllocAsync(&x, 128, stream));
  OK(cuMemsetD32Async(x, 9, 32, stream));
  OK(cuMemcpyDtoHAsync_v2(back.data(), x, 128, stream));
  OK(cuMemFreeAsync(x, stream));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  for (int i = 0; i < 2; ++i) {
    back[0] = 0;
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(9, back[0]);
  }
  return result();
}
