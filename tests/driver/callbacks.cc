// Functions of the host in streams: in their order, and without the right to call the driver.
#include "check.h"

#include <atomic>

namespace {

std::atomic<int> calls{0};
CUdeviceptr memory = 0;
const int* seen = nullptr;

void host_function(void* data) {
  EQUAL(5, *static_cast<int*>(data));
  CUdeviceptr address = 0;
  FAILS(CUDA_ERROR_NOT_PERMITTED, cuMemAlloc_v2(&address, 16));
  EQUAL(41, seen[0]); // what was in the stream before it
  ++calls;
}

void callback(CUstream, CUresult status, void* data) {
  EQUAL(CUDA_SUCCESS, status);
  CHECK(data == &calls);
  ++calls;
}

void count_up(void* data) {
  ++*static_cast<int*>(data);
}

// A node copies the host's own memory in its turn, after what a node before it has written there; a stream's
// copy, at once.
void copy_what_a_host_function_writes() {
  int counter = 6, got[2] = {};
  CUdeviceptr to = 0;
  OK(cuMemAlloc_v2(&to, sizeof got));
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cuLaunchHostFunc(stream, count_up, &counter));
  OK(cuMemcpyHtoDAsync_v2(to, &counter, sizeof counter, stream));
  CUgraph graph = nullptr;
  OK(cuStreamEndCapture(stream, &graph));
  CUgraphExec ready = nullptr;
  OK(cuGraphInstantiateWithFlags(&ready, graph, 0));
  OK(cuGraphLaunch(ready, stream));
  OK(cuStreamSynchronize(stream));
  OK(cuMemcpyHtoDAsync_v2(to + sizeof counter, &counter, sizeof counter, stream));
  counter = 0;
  OK(cuMemcpyDtoHAsync_v2(got, to, sizeof got, stream));
  OK(cuStreamSynchronize(stream));
  EQUAL(7, got[0]);
  EQUAL(7, got[1]);
}

} // namespace

int main() {
  begin();
  const CUfunction add = function(load_kernels(), "add");
  OK(cuMemAllocManaged(&memory, 4, CU_MEM_ATTACH_GLOBAL));
  seen = reinterpret_cast<const int*>(memory);
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  int five = 5;
  OK(cuMemsetD32Async(memory, 40, 1, stream));
  OK(launch(add, 1, 1, stream, memory, 1, 1));
  OK(cuLaunchHostFunc(stream, host_function, &five));
  OK(cuStreamAddCallback(stream, callback, &calls, 0));
  OK(launch(add, 1, 1, stream, memory, 1, 1));
  OK(cuStreamSynchronize(stream));
  EQUAL(2, calls.load());
  EQUAL(42, seen[0]);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream, nullptr, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, nullptr, nullptr, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, callback, nullptr, 1));
  copy_what_a_host_function_writes();
  return result();
}
