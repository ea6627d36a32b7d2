// A graph that is ready to be launched takes over what another does, if that has its shape.
#include "check.h"

namespace {

CUgraph captured(CUstream stream, CUfunction add, CUdeviceptr x, int by, bool with_fill) {
  CUgraph graph = nullptr;
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  if (with_fill)
    OK(cuMemsetD32Async(x, 0, 32, stream));
  else
    OK(launch(add, 1, 32, stream, x, 1, 32));
  OK(launch(add, 1, 32, stream, x, by, 32));
  OK(cuStreamEndCapture(stream, &graph));
  return graph;
}

} // namespace

int main() {
  begin();
  const CUfunction add = function(load_kernels(), "add");
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr x = allocate_ints(32);
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, captured(stream, add, x, 5, true), 0));
  const auto run = [&] {
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    return read_ints(x, 32)[31];
  };
  EQUAL(5, run());
  const CUgraph other = captured(stream, add, x, 6, true);
  CUgraphExecUpdateResultInfo info{};
  OK(cuGraphExecUpdate_v2(exec, other, &info));
  EQUAL(CU_GRAPH_EXEC_UPDATE_SUCCESS, info.result);
  EQUAL(6, run());
  const CUgraph shaped_otherwise = captured(stream, add, x, 6, false);
  FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate_v2(exec, shaped_otherwise, &info));
  EQUAL(CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED, info.result);
  CHECK(info.errorNode != nullptr);
  CUgraphNode node = nullptr, wrong = nullptr;
  OK(cuGraphAddEmptyNode(&node, other, nullptr, 0));
  CUgraphExecUpdateResult why{};
  FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, cuGraphExecUpdate(exec, other, &wrong, &why));
  CHECK(why == CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED || on_gpu()); // which says NOT_SUPPORTED
  EQUAL(6, run());
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphExecUpdate_v2(exec, nullptr, &info));
  return result();
}
