// A kernel's fault: the context has it until it goes, everything else goes on, and the report is printed
// once.
#include "check.h"

namespace {

void fails_with(CUresult wanted, const char* kernel, const char* in_report) {
  CUcontext context = nullptr;
  OK(cuCtxCreate_v4(&context, nullptr, 0, 0));
  const CUmodule module = load_kernels();
  const CUfunction faulty = function(module, kernel), add = function(module, "add");
  const CUdeviceptr x = allocate_ints(32);
  OK(cuMemsetD32_v2(x, 1, 32));
  OK(cuCtxSynchronize());
  CUresult first = CUDA_SUCCESS;
  const std::string report = stderr_of([&] {
    const CUresult launched = launch(faulty, 1, 32, nullptr, x);
    first = cuCtxSynchronize();
    if (launched != CUDA_SUCCESS)
      EQUAL(wanted, launched);
  });
  EQUAL(wanted, first);
  if (report.find(kernel) == report.npos || report.find(in_report) == report.npos)
    FAILS(CUDA_SUCCESS, CUDA_ERROR_UNKNOWN),
        std::fprintf(stderr, "the report of %s: %s\n", kernel, report.c_str());
  // From then on everything that needs the context says the same, and says it silently.
  int value = 0;
  CUdeviceptr other = 0;
  const std::string silence = stderr_of([&] {
    FAILS(wanted, cuCtxSynchronize());
    FAILS(wanted, cuMemAlloc_v2(&other, 4));
    FAILS(wanted, cuMemcpyDtoH_v2(&value, x, 4));
    FAILS(wanted, launch(add, 1, 32, nullptr, x, 1, 32));
    FAILS(wanted, cuMemFree_v2(x));
    FAILS(wanted, cuModuleUnload(module));
  });
  EQUAL(std::string(), silence);
  CUcontext current = nullptr;
  OK(cuCtxGetCurrent(&current));
  CHECK(current == context);
  OK(cuCtxDestroy_v2(context));
}

} // namespace

int main() {
  OK(cuInit(0));
  fails_with(CUDA_ERROR_ILLEGAL_ADDRESS, "out_of_bounds", "out of bounds");
  fails_with(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned", "misaligned");
  fails_with(CUDA_ERROR_LAUNCH_FAILED, "trap", "trap");
  fails_with(CUDA_ERROR_ASSERT, "asserts", "kernels.cu");

  // The primary context is good again after a reset.
  const CUcontext primary = begin();
  const CUdeviceptr x = allocate_ints(32);
  OK(launch(function(load_kernels(), "trap"), 1, 1, nullptr, x));
  FAILS(CUDA_ERROR_LAUNCH_FAILED, cuCtxSynchronize());
  OK(cuDevicePrimaryCtxReset_v2(0));
  CUcontext again = nullptr;
  OK(cuDevicePrimaryCtxRetain(&again, 0));
  CHECK(again == primary);
  OK(cuCtxSetCurrent(again));
  const CUdeviceptr y = allocate_ints(32);
  OK(cuMemsetD32_v2(y, 1, 32));
  OK(launch(function(load_kernels(), "add"), 1, 32, nullptr, y, 1, 32));
  EQUAL(2, read_ints(y, 32)[31]);
  return result();
}
