// Events: order, time, what is recorded.
#include "check.h"

int main() {
  cudaEvent_t begin = nullptr, end = nullptr, untimed = nullptr;
  OK(cudaEventCreate(&begin));
  OK(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
  OK(cudaEventCreateWithFlags(&untimed, cudaEventDisableTiming));
  int* x = allocate(256);
  OK(cudaEventRecord(begin, nullptr));
  OK(launch(indices, 1, 256, 0, nullptr, x));
  OK(cudaEventRecordWithFlags(end, nullptr, 0));
  OK(cudaEventSynchronize(end));
  OK(cudaEventQuery(end));
  float milliseconds = -1;
  OK(cudaEventElapsedTime(&milliseconds, begin, end));
  CHECK(milliseconds >= 0 && milliseconds < 60000);
  OK(cudaEventRecord(untimed, nullptr));
  FAILS(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, begin, untimed));
  for (cudaEvent_t each : {begin, end, untimed})
    OK(cudaEventDestroy(each));
  FAILS(cudaErrorInvalidValue, cudaEventCreateWithFlags(&begin, 0x100));
  return result();
}
