// Events: reached, waited for, and the time between two.
#include "check.h"

int main() {
  begin();
  const CUfunction add = function(load_kernels(), "add");
  CUstream a = nullptr, b = nullptr;
  OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
  CUevent before = nullptr, after = nullptr, untimed = nullptr;
  OK(cuEventCreate(&before, CU_EVENT_DEFAULT));
  OK(cuEventCreate(&after, CU_EVENT_BLOCKING_SYNC));
  OK(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  OK(cuEventQuery(before)); // never recorded
  OK(cuEventSynchronize(before));
  float milliseconds = -1;
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, before, after));
  const CUdeviceptr x = allocate_ints(1024);
  OK(cuMemsetD32_v2(x, 0, 1024));
  OK(cuEventRecord(before, a));
  for (int i = 0; i < 5; ++i)
    OK(launch(add, 1, 1024, a, x, 1, 1024));
  OK(cuEventRecordWithFlags(after, a, CU_EVENT_RECORD_DEFAULT));
  OK(cuStreamWaitEvent(b, after, 0));
  OK(launch(add, 1, 1024, b, x, 10, 1024)); // behind what is in the other
  OK(cuEventRecord(untimed, b));
  OK(cuEventSynchronize(untimed));
  OK(cuEventQuery(after));
  EQUAL(15, read_ints(x, 1024)[1023]);
  OK(cuEventElapsedTime(&milliseconds, before, after));
  CHECK(milliseconds >= 0);
  float again = -1;
  OK(cuEventElapsedTime_v2(&again, before, after));
  EQUAL(milliseconds, again);
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(&milliseconds, before, untimed));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime(nullptr, before, after));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuEventCreate(&before, 64));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuEventCreate(nullptr, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuEventRecordWithFlags(after, a, 8));
  FAILS(CUDA_ERROR_ILLEGAL_STATE,
        cuEventRecordWithFlags(after, a, CU_EVENT_RECORD_EXTERNAL)); // nothing captures
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(nullptr, a));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent(b, nullptr, 0));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(nullptr));
  OK(cuEventDestroy_v2(before));
  if (!on_gpu())
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy_v2(before));
  OK(cuEventDestroy(after));
  return result();
}
