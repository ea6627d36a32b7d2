// The primary context: counted, the same for all, and empty after a reset.
#include "check.h"

int main() {
  OK(cuInit(0));
  unsigned flags = 99;
  int active = 99;
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EQUAL(0, active);
  EQUAL(0u, flags);
  OK(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_BLOCKING_SYNC));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxSetFlags_v2(0, 3));
  OK(cuDevicePrimaryCtxSetFlags(0, CU_CTX_SCHED_YIELD));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2(0));

  CUcontext first = nullptr, second = nullptr, current = nullptr;
  OK(cuDevicePrimaryCtxRetain(&first, 0));
  OK(cuDevicePrimaryCtxRetain(&second, 0));
  CHECK(first == second);
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&second, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxRetain(nullptr, 0));
  OK(cuCtxGetCurrent(&current));
  CHECK(current == nullptr); // retaining makes nothing current
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EQUAL(1, active);
  EQUAL(unsigned{CU_CTX_SCHED_YIELD}, flags);
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2(first));

  OK(cuCtxSetCurrent(first));
  const CUdeviceptr memory = allocate_ints(4);
  OK(cuDevicePrimaryCtxRelease_v2(0));
  write_ints(memory, {1, 2, 3, 4});
  OK(cuDevicePrimaryCtxRelease(0)); // the last
  OK(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EQUAL(0, active);
  CUdeviceptr other = 0;
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2(&other, 16));

  OK(cuDevicePrimaryCtxRetain(&second, 0));
  OK(cuCtxSetCurrent(second));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(memory)); // it went with the context
  const CUdeviceptr again = allocate_ints(4);
  OK(cuDevicePrimaryCtxReset_v2(0));
  OK(cuDevicePrimaryCtxRetain(&second, 0));
  OK(cuCtxSetCurrent(second));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2(again));
  OK(cuDevicePrimaryCtxReset(0));
  return result();
}
