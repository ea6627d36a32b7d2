// Graphs: captured and built, with nodes of every kind; their executable copies, and what can be changed in
// them.
#include "check.h"

#include <atomic>

namespace {

std::atomic<int> called{0};
void count_call(void* data) {
  called += *static_cast<int*>(data);
}

// What is run, and how often the sum goes up by it.
int run(cudaGraph_t graph, int* x) {
  cudaGraphExec_t exec = nullptr;
  OK(cudaMemset(x, 0, 1024));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaGraphLaunch(exec, nullptr));
  OK(cudaDeviceSynchronize());
  OK(cudaGraphExecDestroy(exec));
  return read_ints(x, 256)[255];
}

void captured(int* x) {
  cudaStream_t stream = nullptr, side = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  OK(cudaStreamCreate(&stream));
  OK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  OK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  OK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  EQUAL(cudaStreamCaptureModeGlobal, mode);
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  OK(cudaThreadExchangeStreamCaptureMode(&mode));
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  OK(cudaStreamIsCapturing(stream, &status));
  EQUAL(cudaStreamCaptureStatusActive, status);
  OK(launch(add, 1, 256, 0, stream, x, 1, 256));
  OK(cudaEventRecord(fork, stream));
  OK(cudaStreamWaitEvent(side, fork, 0));
  OK(launch(add, 1, 256, 0, side, x, 10, 256));
  OK(cudaEventRecord(join, side));
  OK(cudaStreamWaitEvent(stream, join, 0));
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  const cudaGraphEdgeData* edges = nullptr;
  size_t count = 0;
  OK(cudaStreamGetCaptureInfo(stream, &status, &id, &graph, &dependencies, &edges, &count));
  CHECK(id != 0 && graph && count >= 1);
  cudaGraphNode_t extra = nullptr;
  OK(cudaGraphAddEmptyNode(&extra, graph, dependencies, count));
  OK(cudaStreamUpdateCaptureDependencies(stream, &extra, nullptr, 1, cudaStreamSetCaptureDependencies));
  OK(launch(add, 1, 256, 0, stream, x, 100, 256));
  OK(cudaStreamEndCapture(stream, &graph));
  EQUAL(111, run(graph, x));

  // More at the end of the same graph.
  cudaGraphNode_t nodes[8] = {};
  count = 8;
  OK(cudaGraphGetNodes(graph, nodes, &count));
  EQUAL(size_t{4}, count);
  OK(cudaStreamBeginCaptureToGraph(stream, graph, nodes, nullptr, 1, cudaStreamCaptureModeThreadLocal));
  OK(launch(add, 1, 256, 0, stream, x, 1000, 256));
  cudaGraph_t same = nullptr;
  OK(cudaStreamEndCapture(stream, &same));
  CHECK(same == graph);
  EQUAL(1111, run(graph, x));
  // A captured kernel is the program's own function again.
  cudaKernelNodeParams parameters{};
  OK(cudaGraphKernelNodeGetParams(nodes[0], &parameters));
  CHECK(parameters.func == &add && parameters.blockDim.x == 256);
  OK(cudaGraphDestroy(graph));

  // What is not allowed meanwhile ends the capture.
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  FAILS(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  FAILS(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));
  OK(cudaStreamDestroy(stream));
  OK(cudaStreamDestroy(side));
}

void kernel_nodes(int* x) {
  cudaGraph_t graph = nullptr;
  OK(cudaGraphCreate(&graph, 0));
  int amount = 5, size = 256;
  void* arguments[] = {&x, &amount, &size};
  cudaKernelNodeParams parameters{};
  parameters.func = const_cast<Kernel*>(&add);
  parameters.gridDim = 1;
  parameters.blockDim = 256;
  parameters.kernelParams = arguments;
  cudaGraphNode_t first = nullptr, second = nullptr;
  OK(cudaGraphAddKernelNode(&first, graph, nullptr, 0, &parameters));
  amount = 70;
  OK(cudaGraphAddKernelNode(&second, graph, &first, 1, &parameters));
  EQUAL(75, run(graph, x));
  cudaKernelNodeParams got{};
  OK(cudaGraphKernelNodeGetParams(second, &got));
  CHECK(got.func == &add && *static_cast<int*>(got.kernelParams[1]) == 70);
  amount = 80;
  OK(cudaGraphKernelNodeSetParams(second, &parameters));
  EQUAL(85, run(graph, x));
  cudaLaunchAttributeValue value{}, back{};
  value.priority = -2;
  OK(cudaGraphKernelNodeSetAttribute(first, cudaLaunchAttributePriority, &value));
  OK(cudaGraphKernelNodeCopyAttributes(second, first));
  OK(cudaGraphKernelNodeGetAttribute(second, cudaLaunchAttributePriority, &back));
  EQUAL(-2, back.priority);

  cudaGraphExec_t exec = nullptr;
  OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
  unsigned long long flags = 9;
  OK(cudaGraphExecGetFlags(exec, &flags));
  EQUAL(0ull, flags);
  amount = 1;
  OK(cudaGraphExecKernelNodeSetParams(exec, first, &parameters));
  cudaGraphNodeParams any{};
  any.type = cudaGraphNodeTypeKernel;
  any.kernel = parameters;
  amount = 2;
  OK(cudaGraphExecNodeSetParams(exec, second, &any));
  OK(cudaMemset(x, 0, 1024));
  OK(cudaGraphUpload(exec, nullptr));
  OK(cudaGraphLaunch(exec, nullptr));
  EQUAL(3, read_ints(x, 1)[0]);
  unsigned enabled = 9;
  OK(cudaGraphNodeSetEnabled(exec, first, 0));
  OK(cudaGraphNodeGetEnabled(exec, first, &enabled));
  EQUAL(0u, enabled);
  OK(cudaGraphLaunch(exec, nullptr));
  EQUAL(5, read_ints(x, 1)[0]);
  cudaGraphExecUpdateResultInfo info{};
  OK(cudaGraphExecUpdate(exec, graph, &info));
  EQUAL(cudaGraphExecUpdateSuccess, info.result);
  OK(cudaGraphExecDestroy(exec));
  amount = 6;
  OK(cudaGraphNodeSetParams(second, &any));
  EQUAL(11, run(graph, x));
  parameters.func = const_cast<Kernel*>(&no_such_kernel);
  FAILS(cudaErrorInvalidResourceHandle, cudaGraphAddKernelNode(&first, graph, nullptr, 0, &parameters));
  OK(cudaGraphDestroy(graph));
}

void copies_and_fills(int* x) {
  cudaGraph_t graph = nullptr;
  OK(cudaGraphCreate(&graph, 0));
  std::vector<int> in(256, 4), out(256, 0), other(256, 9);
  cudaGraphNode_t fill = nullptr, up = nullptr, down = nullptr, cube = nullptr, to = nullptr, from = nullptr;
  cudaMemsetParams set{};
  set.dst = x;
  set.value = 7;
  set.elementSize = 4;
  set.width = 128;
  set.height = 1;
  OK(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &set));
  OK(cudaGraphAddMemcpyNode1D(&up, graph, &fill, 1, x + 128, in.data(), 512, cudaMemcpyHostToDevice));
  OK(cudaGraphAddMemcpyNode1D(&down, graph, &up, 1, out.data(), x, 1024, cudaMemcpyDeviceToHost));
  cudaMemcpy3DParms box{};
  box.srcPtr = {other.data(), 512, 512, 1};
  box.dstPtr = {x, 512, 512, 2};
  box.extent = {4, 1, 1};
  box.kind = cudaMemcpyHostToDevice;
  OK(cudaGraphAddMemcpyNode(&cube, graph, &down, 1, &box));
  int seen = 0, new_counter = 77;
  OK(cudaGraphAddMemcpyNodeToSymbol(&to, graph, &cube, 1, &counter, &new_counter, 4, 0,
                                    cudaMemcpyHostToDevice));
  OK(cudaGraphAddMemcpyNodeFromSymbol(&from, graph, &to, 1, &seen, &counter, 4, 0, cudaMemcpyDeviceToHost));
  CHECK(run(graph, x) == 4 && out[0] == 7 && out[127] == 7 && out[128] == 4 && seen == 77);
  EQUAL(9, read_ints(x, 1)[0]);

  cudaMemcpy3DParms got{};
  OK(cudaGraphMemcpyNodeGetParams(cube, &got));
  CHECK(got.srcPtr.ptr == other.data() && got.kind == cudaMemcpyHostToDevice && got.extent.width == 4);
  got.extent.width = 8;
  OK(cudaGraphMemcpyNodeSetParams(cube, &got));
  OK(cudaGraphMemcpyNodeSetParams1D(up, x + 128, other.data(), 512, cudaMemcpyHostToDevice));
  OK(cudaGraphMemcpyNodeSetParamsToSymbol(to, table, &new_counter, 4, 8, cudaMemcpyHostToDevice));
  OK(cudaGraphMemcpyNodeSetParamsFromSymbol(from, &seen, table, 4, 8, cudaMemcpyDeviceToHost));
  cudaMemsetParams set_back{};
  OK(cudaGraphMemsetNodeGetParams(fill, &set_back));
  CHECK(set_back.dst == x && set_back.value == 7);
  set.value = 8;
  OK(cudaGraphMemsetNodeSetParams(fill, &set));
  seen = 0;
  CHECK(run(graph, x) == 9 && out[0] == 8 && out[128] == 9 && seen == 77);
  EQUAL(9, read_ints(x, 2)[1]);

  cudaGraphExec_t exec = nullptr;
  OK(cudaGraphInstantiate(&exec, graph, 0));
  set.value = 3;
  OK(cudaGraphExecMemsetNodeSetParams(exec, fill, &set));
  box.extent.width = 4;
  OK(cudaGraphExecMemcpyNodeSetParams(exec, cube, &box));
  OK(cudaGraphExecMemcpyNodeSetParams1D(exec, up, x + 128, in.data(), 512, cudaMemcpyHostToDevice));
  new_counter = 78;
  OK(cudaGraphExecMemcpyNodeSetParamsToSymbol(exec, to, &counter, &new_counter, 4, 0,
                                              cudaMemcpyHostToDevice));
  OK(cudaGraphExecMemcpyNodeSetParamsFromSymbol(exec, from, &seen, &counter, 4, 0, cudaMemcpyDeviceToHost));
  OK(cudaGraphLaunch(exec, nullptr));
  OK(cudaDeviceSynchronize());
  CHECK(out[0] == 3 && out[128] == 4 && seen == 78);
  OK(cudaGraphExecDestroy(exec));
  OK(cudaGraphDestroy(graph));
}

void other_nodes(int* x) {
  cudaGraph_t graph = nullptr, child = nullptr, clone = nullptr, inside = nullptr;
  cudaEvent_t event = nullptr, another = nullptr, got = nullptr;
  OK(cudaEventCreate(&event));
  OK(cudaEventCreate(&another));
  OK(cudaGraphCreate(&graph, 0));
  OK(cudaGraphCreate(&child, 0));
  int one = 1, ten = 10;
  cudaHostNodeParams host = {count_call, &one};
  cudaGraphNode_t in_child = nullptr, host_node = nullptr, child_node = nullptr, record = nullptr,
                  wait = nullptr;
  OK(cudaGraphAddHostNode(&in_child, child, nullptr, 0, &host));
  OK(cudaGraphAddHostNode(&host_node, graph, nullptr, 0, &host));
  OK(cudaGraphAddChildGraphNode(&child_node, graph, &host_node, 1, child));
  OK(cudaGraphChildGraphNodeGetGraph(child_node, &inside));
  CHECK(inside != nullptr);
  OK(cudaGraphAddEventRecordNode(&record, graph, &child_node, 1, event));
  OK(cudaGraphAddEventWaitNode(&wait, graph, &record, 1, event));
  called = 0;
  run(graph, x);
  EQUAL(2, called.load());
  OK(cudaGraphHostNodeGetParams(host_node, &host));
  CHECK(host.userData == &one);
  host.userData = &ten;
  OK(cudaGraphHostNodeSetParams(host_node, &host));
  OK(cudaGraphEventRecordNodeSetEvent(record, another));
  OK(cudaGraphEventRecordNodeGetEvent(record, &got));
  CHECK(got == another);
  OK(cudaGraphEventWaitNodeSetEvent(wait, another));
  OK(cudaGraphEventWaitNodeGetEvent(wait, &got));
  CHECK(got == another);
  cudaGraphExec_t exec = nullptr;
  cudaGraphInstantiateParams parameters{};
  OK(cudaGraphInstantiateWithParams(&exec, graph, &parameters));
  EQUAL(cudaGraphInstantiateSuccess, parameters.result_out);
  OK(cudaGraphExecEventRecordNodeSetEvent(exec, record, event));
  OK(cudaGraphExecEventWaitNodeSetEvent(exec, wait, event));
  OK(cudaGraphExecChildGraphNodeSetParams(exec, child_node, child));
  host.userData = &one;
  OK(cudaGraphExecHostNodeSetParams(exec, host_node, &host));
  called = 0;
  OK(cudaGraphLaunch(exec, nullptr));
  OK(cudaEventSynchronize(event));
  OK(cudaDeviceSynchronize());
  EQUAL(2, called.load());
  OK(cudaGraphExecDestroy(exec));

  // What is in it.
  OK(cudaGraphClone(&clone, graph));
  cudaGraphNode_t found = nullptr, nodes[4] = {}, to[4] = {};
  cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  OK(cudaGraphNodeFindInClone(&found, child_node, clone));
  OK(cudaGraphNodeGetType(found, &type));
  EQUAL(cudaGraphNodeTypeGraph, type);
  size_t count = 4;
  OK(cudaGraphGetRootNodes(graph, nodes, &count));
  CHECK(count == 1 && nodes[0] == host_node);
  cudaGraphEdgeData edges[4] = {};
  count = 4;
  OK(cudaGraphGetEdges(graph, nodes, to, edges, &count));
  EQUAL(size_t{3}, count);
  count = 4;
  OK(cudaGraphNodeGetDependencies(record, nodes, nullptr, &count));
  CHECK(count == 1 && nodes[0] == child_node);
  count = 4;
  OK(cudaGraphNodeGetDependentNodes(record, nodes, nullptr, &count));
  CHECK(count == 1 && nodes[0] == wait);
  OK(cudaGraphRemoveDependencies(graph, &record, &wait, nullptr, 1));
  OK(cudaGraphAddDependencies(graph, &host_node, &wait, nullptr, 1));
  OK(cudaGraphDestroyNode(record));
  for (cudaGraph_t each : {clone, child, graph})
    OK(cudaGraphDestroy(each));
}

// cudaGraphAddNode of every kind, with memory of the graph's own.
void of_any_kind(int* x) {
  cudaGraph_t graph = nullptr;
  OK(cudaGraphCreate(&graph, 0));
  cudaGraphNodeParams p{};
  p.type = cudaGraphNodeTypeMemAlloc;
  p.alloc.poolProps.allocType = cudaMemAllocationTypePinned;
  p.alloc.poolProps.location = {cudaMemLocationTypeDevice, 0};
  p.alloc.bytesize = 1024;
  cudaGraphNode_t alloc = nullptr, fill = nullptr, kernel = nullptr, copy = nullptr, host = nullptr,
                  free = nullptr, last = nullptr;
  OK(cudaGraphAddNode(&alloc, graph, nullptr, nullptr, 0, &p));
  int* memory = static_cast<int*>(p.alloc.dptr);
  cudaMemAllocNodeParams got{};
  OK(cudaGraphMemAllocNodeGetParams(alloc, &got));
  CHECK(got.dptr == memory && got.bytesize == 1024);
  p = {};
  p.type = cudaGraphNodeTypeMemset;
  p.memset.dst = memory;
  p.memset.value = 3;
  p.memset.elementSize = 4;
  p.memset.width = 256;
  p.memset.height = 1;
  OK(cudaGraphAddNode(&fill, graph, &alloc, nullptr, 1, &p));
  int size = 256;
  void* arguments[] = {&x, &memory, &size};
  p = {};
  p.type = cudaGraphNodeTypeKernel;
  p.kernel.func = const_cast<Kernel*>(&twice);
  p.kernel.gridDim = 1;
  p.kernel.blockDim = 256;
  p.kernel.kernelParams = arguments;
  const cudaGraphEdgeData plain{}, programmatic = {1, 0, cudaGraphDependencyTypeProgrammatic, {}};
  FAILS(cudaErrorInvalidValue, cudaGraphAddNode(&kernel, graph, &fill, &programmatic, 1, &p));
  OK(cudaGraphAddNode(&kernel, graph, &fill, &plain, 1, &p));
  int back = 0, one = 1;
  p = {};
  p.type = cudaGraphNodeTypeMemcpy;
  p.memcpy.copyParams.srcPtr = {x + 200, 4, 4, 1};
  p.memcpy.copyParams.dstPtr = {&back, 4, 4, 1};
  p.memcpy.copyParams.extent = {4, 1, 1};
  p.memcpy.copyParams.kind = cudaMemcpyDeviceToHost;
  OK(cudaGraphAddNode(&copy, graph, &kernel, nullptr, 1, &p));
  p = {};
  p.type = cudaGraphNodeTypeHost;
  p.host = {count_call, &one};
  OK(cudaGraphAddNode(&host, graph, &copy, nullptr, 1, &p));
  p = {};
  p.type = cudaGraphNodeTypeMemFree;
  p.free.dptr = memory;
  OK(cudaGraphAddNode(&free, graph, &host, nullptr, 1, &p));
  void* freed = nullptr;
  OK(cudaGraphMemFreeNodeGetParams(free, &freed));
  CHECK(freed == memory);
  p = {};
  p.type = cudaGraphNodeTypeEmpty;
  OK(cudaGraphAddNode(&last, graph, &free, nullptr, 1, &p));
  p.type = cudaGraphNodeTypeConditional;
  FAILS(cudaErrorNotSupported, cudaGraphAddNode(&last, graph, nullptr, nullptr, 0, &p));
  called = 0;
  EQUAL(6, run(graph, x));
  CHECK(back == 6 && called == 1);
  OK(cudaGraphDestroy(graph));

  // The same two by their own functions.
  OK(cudaGraphCreate(&graph, 0));
  cudaMemAllocNodeParams own{};
  own.poolProps = got.poolProps;
  own.bytesize = 64;
  OK(cudaGraphAddMemAllocNode(&alloc, graph, nullptr, 0, &own));
  OK(cudaGraphAddMemFreeNode(&free, graph, &alloc, 1, own.dptr));
  EQUAL(0, run(graph, x));
  OK(cudaGraphDestroy(graph));
}

} // namespace

int main() {
  int* x = allocate(256);
  captured(x);
  kernel_nodes(x);
  copies_and_fills(x);
  other_nodes(x);
  of_any_kind(x);
  return result();
}
