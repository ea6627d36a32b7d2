// A stream's work captured as a graph and launched again and again.
#include "check.h"

namespace {

void count(void* calls) {
  ++*static_cast<int*>(calls);
}

} // namespace

int main() {
  begin();
  const CUfunction add = function(load_kernels(), "add");
  CUstream stream = nullptr, other = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&other, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr x = allocate_ints(64);
  OK(cuMemsetD32_v2(x, 0, 64));
  int calls = 0;
  std::vector<int> got(64, -1);
  CUstreamCaptureStatus status{};
  OK(cuStreamIsCapturing(stream, &status));
  EQUAL(CU_STREAM_CAPTURE_STATUS_NONE, status);
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuStreamIsCapturing(stream, &status));
  EQUAL(CU_STREAM_CAPTURE_STATUS_ACTIVE, status);
  cuuint64_t id = 0;
  OK(cuStreamGetCaptureInfo(stream, &status, &id));
  CHECK(id != 0);
  OK(launch(add, 2, 32, stream, x, 3, 64));
  OK(cuLaunchHostFunc(stream, count, &calls));
  OK(cuMemcpyDtoHAsync_v2(got.data(), x, 256, stream));
  CUgraph so_far = nullptr, graph = nullptr;
  const CUgraphNode* last = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t number = 0;
  OK(cuStreamGetCaptureInfo_v2(stream, &status, &id, &so_far, &last, &number));
  EQUAL(size_t{1}, number);
  OK(cuStreamGetCaptureInfo_v3(stream, &status, &id, &so_far, &last, &edges, &number));
  OK(cuStreamEndCapture(stream, &graph));
  CHECK(graph == so_far);
  EQUAL(0, calls); // nothing has run
  EQUAL(-1, got[0]);
  OK(cuGraphGetNodes(graph, nullptr, &number));
  EQUAL(size_t{3}, number);
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphDestroy(graph));
  OK(cuGraphUpload(exec, stream));
  for (int i = 0; i < 4; ++i)
    OK(cuGraphLaunch(exec, i % 2 ? stream : other)), OK(cuStreamSynchronize(i % 2 ? stream : other));
  EQUAL(4, calls);
  EQUAL(12, got[63]);

  // Fork and join: another stream takes part by an event.
  CUevent fork = nullptr, join = nullptr;
  OK(cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING));
  OK(cuEventCreate(&join, CU_EVENT_DISABLE_TIMING));
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  OK(cuMemsetD32Async(x, 5, 64, stream));
  OK(cuEventRecord(fork, stream));
  OK(cuStreamWaitEvent(other, fork, 0));
  OK(launch(add, 1, 32, stream, x, 1, 32));
  OK(launch(add, 1, 32, other, x + 128, 2, 32));
  OK(cuEventRecord(join, other));
  OK(cuStreamWaitEvent(stream, join, 0));
  OK(launch(add, 2, 32, stream, x, 100, 64));
  OK(cuStreamEndCapture(stream, &graph));
  size_t edge_count = 0;
  OK(cuGraphGetEdges(graph, nullptr, nullptr, &edge_count));
  EQUAL(size_t{4}, edge_count);
  OK(cuGraphInstantiateWithFlags(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EQUAL(106, read_ints(x, 64)[0]);
  EQUAL(107, read_ints(x, 64)[63]);

  // Into a graph that is there, behind a node of its.
  CUgraphNode root = nullptr;
  OK(cuGraphCreate(&graph, 0));
  OK(cuGraphAddEmptyNode(&root, graph, nullptr, 0));
  OK(cuStreamBeginCaptureToGraph(stream, graph, &root, nullptr, 1, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(launch(add, 1, 32, stream, x, 1, 32));
  CUgraphNode only[] = {root};
  OK(cuStreamUpdateCaptureDependencies(stream, only, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES));
  OK(cuStreamUpdateCaptureDependencies_v2(stream, only, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  OK(launch(add, 1, 32, stream, x, 1, 32));
  CUgraph same = nullptr;
  OK(cuStreamEndCapture(stream, &same));
  CHECK(same == graph);
  size_t dependents = 0;
  OK(cuGraphNodeGetDependentNodes(root, nullptr, &dependents));
  EQUAL(size_t{2}, dependents);

  // A captured graph launch is a node, too; NVIDIA's driver refuses it.
  if (on_gpu())
    return result();
  OK(cuStreamBeginCapture(stream));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamEndCapture(stream, &graph));
  CUgraphNode node = nullptr;
  number = 1;
  OK(cuGraphGetNodes(graph, &node, &number));
  CUgraphNodeType type{};
  OK(cuGraphNodeGetType(node, &type));
  EQUAL(CU_GRAPH_NODE_TYPE_GRAPH, type);
  return result();
}
