// Several threads at once: in one stream that all use, and each with modules, memory and graphs of its own
// that it makes and destroys
#include "check.h"

#include <thread>

namespace {

// One stream, the default one too, orders what all threads give it.
void share(CUcontext context, CUfunction add, CUstream stream, CUdeviceptr x, CUdeviceptr y) {
  OK(cuCtxSetCurrent(context));
  CUevent event = nullptr;
  OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  for (int i = 0; i < 10; ++i) {
    OK(launch(add, 1, 64, stream, x, 1, 64));
    OK(launch(add, 1, 64, nullptr, y, 1, 64));
  }
  OK(cuEventRecord(event, stream));
  OK(cuEventSynchronize(event));
  OK(cuEventDestroy_v2(event));
}

// Modules, memory, pools and graphs of each thread's own, made and destroyed while the others do the same.
void make_and_destroy(CUcontext context, int thread) {
  OK(cuCtxSetCurrent(context));
  for (int round = 0; round < 3; ++round) {
    const CUmodule module = load_kernels();
    const CUfunction add = function(module, "add");
    CUstream stream = nullptr;
    OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    CUdeviceptr x = 0;
    OK(cuMemAllocAsync(&x, 64 * sizeof(int), stream));
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    OK(cuMemsetD32Async(x, static_cast<unsigned>(thread), 64, stream));
    OK(launch(add, 1, 64, stream, x, round, 64));
    OK(cuStreamEndCapture(stream, &graph));
    OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
    OK(cuGraphLaunch(exec, stream));
    std::vector<int> got(64, -1);
    OK(cuMemcpyDtoHAsync_v2(got.data(), x, 64 * sizeof(int), stream));
    OK(cuMemFreeAsync(x, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(thread + round, got[63]);
    OK(cuGraphExecDestroy(exec));
    OK(cuGraphDestroy(graph));
    OK(cuStreamDestroy_v2(stream));
    OK(cuModuleUnload(module));
  }
}

constexpr int kThreads = 8;

template <class F>
void in_threads(F f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([=] { f(i); });
  for (std::thread& thread : threads)
    thread.join();
}

} // namespace

int main() {
  const CUcontext context = begin();
  const CUfunction add = function(load_kernels(), "add");
  const CUdeviceptr x = allocate_ints(64), y = allocate_ints(64);
  OK(cuMemsetD32_v2(x, 0, 64));
  OK(cuMemsetD32_v2(y, 0, 64));
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  in_threads([=](int) { share(context, add, stream, x, y); });
  OK(cuCtxSynchronize());
  EQUAL(10 * kThreads, read_ints(x, 64)[63]);
  EQUAL(10 * kThreads, read_ints(y, 64)[63]);
  in_threads([=](int i) { make_and_destroy(context, i); });
  return result();
}
