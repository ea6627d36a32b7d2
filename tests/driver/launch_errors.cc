// Launches that an H200 refuses at the call, and with what.
#include "check.h"

int main() {
  begin();
  const CUmodule module = load_kernels();
  const CUfunction indices = function(module, "indices"), bounded = function(module, "bounded");
  CUdeviceptr out = allocate_ints(1024);
  void* arguments[] = {&out};
  const auto start = [&](CUfunction kernel, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned shared = 0, CUstream stream = nullptr) {
    return cuLaunchKernel(kernel, gx, gy, gz, bx, by, bz, shared, stream, arguments, nullptr);
  };
  OK(start(indices, 1, 1, 1, 1024, 1, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, start(indices, 0, 1, 1, 32, 1, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, start(indices, 1, 1, 1, 0, 1, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, start(indices, 1, 1, 1, 2000, 1, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, start(indices, 1, 1, 1, 1, 1, 65));
  FAILS(CUDA_ERROR_INVALID_VALUE, start(indices, 1, 1, 1, 64, 32, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, start(indices, 1, 65536, 1, 1, 1, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, start(indices, 1, 1, 1, 32, 1, 1, 49153));
  OK(start(bounded, 1, 1, 1, 128, 1, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, start(bounded, 1, 1, 1, 129, 1, 1));
  FAILS(CUDA_ERROR_INVALID_HANDLE, start(nullptr, 1, 1, 1, 1, 1, 1));
  int no_kernel = 0;
  FAILS(CUDA_ERROR_INVALID_HANDLE, start(reinterpret_cast<CUfunction>(&no_kernel), 1, 1, 1, 1, 1, 1));
  if (!on_gpu())
    FAILS(CUDA_ERROR_INVALID_HANDLE,
          start(indices, 1, 1, 1, 1, 1, 1, 0, reinterpret_cast<CUstream>(&no_kernel)));
  OK(cuCtxSynchronize()); // none of these is a fault
  EQUAL(128, read_ints(out, 1)[0]);
  OK(cuCtxSetCurrent(nullptr));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, start(indices, 1, 1, 1, 32, 1, 1));
  return result();
}
