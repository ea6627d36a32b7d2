// Several threads: each has its own current context, and launches do not disturb each other.
#include "check.h"

#include <thread>

namespace {

void work(CUcontext context, CUfunction add, int thread) {
  CUcontext current = nullptr;
  OK(cuCtxGetCurrent(&current));
  CHECK(current == nullptr);
  CUdeviceptr nothing = 0;
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2(&nothing, 4));
  OK(cuCtxSetCurrent(context));
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr x = allocate_ints(64);
  OK(cuMemsetD32Async(x, 0, 64, stream));
  for (int i = 0; i < 20; ++i)
    OK(launch(add, 1, 64, stream, x, thread, 64));
  OK(cuStreamSynchronize(stream));
  EQUAL(20 * thread, read_ints(x, 64)[63]);
  OK(cuMemFree_v2(x));
  OK(cuStreamDestroy_v2(stream));
}

} // namespace

int main() {
  const CUcontext context = begin();
  const CUfunction add = function(load_kernels(), "add");
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([=] { work(context, add, i); });
  for (std::thread& thread : threads)
    thread.join();
  return result();
}
