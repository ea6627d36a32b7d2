// The same functions with the thread's own default stream in the place of the legacy one.
#include "check.h"

#include <thread>

int main() {
  const CUcontext context = begin();
  const CUfunction add = function(load_kernels(), "add");
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([=] {
      OK(cuCtxSetCurrent(context));
      CUdeviceptr x = allocate_ints(32);
      int by = t, n = 32;
      void* arguments[] = {&x, &by, &n};
      OK(cuMemsetD32_v2_ptds(x, 10, 32));
      OK(cuLaunchKernel_ptsz(add, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
      OK(cuStreamSynchronize_ptsz(nullptr));
      std::vector<int> got(32);
      OK(cuMemcpyDtoH_v2_ptds(got.data(), x, 128));
      EQUAL(10 + t, got[31]);
      // Captured: which the legacy stream cannot be.
      CUgraph graph = nullptr;
      OK(cuStreamBeginCapture_v2_ptsz(nullptr, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
      OK(cuLaunchKernel_ptsz(add, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
      OK(cuStreamEndCapture_ptsz(nullptr, &graph));
      CUgraphExec exec = nullptr;
      OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
      OK(cuGraphLaunch_ptsz(exec, nullptr));
      OK(cuMemcpyDtoHAsync_v2_ptsz(got.data(), x, 128, nullptr));
      OK(cuStreamSynchronize_ptsz(nullptr));
      EQUAL(10 + 2 * t, got[31]);
    });
  for (std::thread& thread : threads)
    thread.join();
  return result();
}
