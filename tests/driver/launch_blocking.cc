// CUDA_LAUNCH_BLOCKING=1: a launch returns when its kernel has ended, with what that has ended with.
#include "check.h"

#include <cstdlib>

int main() {
  OK(cuInit(0));
  setenv("CUDA_LAUNCH_BLOCKING", "1", 1); // looked at when the context is made
  begin();
  const CUmodule module = load_kernels();
  CUdeviceptr x = allocate_ints(32);
  write_ints(x, std::vector<int>(32, 5));
  int by = 2, count = 32;
  void* arguments[] = {&x, &by, &count};
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const CUfunction add = function(module, "add");
  OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  OK(cuStreamQuery(stream)); // nothing is left to do
  EQUAL(7, read_ints(x, 32)[31]);

  // A launch that becomes a node of a graph has nothing to wait for.
  CUgraph graph = nullptr;
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  OK(cuStreamEndCapture(stream, &graph));
  OK(cuStreamQuery(stream));

  FAILS(CUDA_ERROR_LAUNCH_FAILED,
        cuLaunchKernel(function(module, "trap"), 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  return 0;
}
