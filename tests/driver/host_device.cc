// The host and the device at a time: a kernel waits for what the host writes, another stream's kernel for the
// first.
#include "check.h"

#include <atomic>
#include <chrono>
#include <thread>

namespace {

// By the host, for all to see.
void set(int* flag, int value) {
  std::atomic_ref<int>(*flag).store(value);
}
int get(int* flag) {
  return std::atomic_ref<int>(*flag).load();
}

} // namespace

int main() {
  begin();
  const CUmodule module = load_kernels();
  const CUfunction relay = function(module, "relay");
  int* flags = nullptr;
  OK(cuMemHostAlloc(reinterpret_cast<void**>(&flags), 3 * sizeof(int), CU_MEMHOSTALLOC_DEVICEMAP));
  flags[0] = flags[1] = flags[2] = 0;
  const CUdeviceptr at = reinterpret_cast<CUdeviceptr>(flags);
  CUstream a = nullptr, b = nullptr;
  OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
  CUevent done = nullptr;
  OK(cuEventCreate(&done, CU_EVENT_DISABLE_TIMING));
  OK(launch(relay, 1, 1, b, at + 4, at + 8)); // waits for the other stream's
  OK(launch(relay, 1, 1, a, at, at + 4));     // waits for the host
  OK(cuEventRecord(done, b));
  FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
  FAILS(CUDA_ERROR_NOT_READY, cuEventQuery(done));
  EQUAL(0, get(flags + 2));
  set(flags, 41);
  OK(cuEventSynchronize(done));
  EQUAL(43, get(flags + 2));
  OK(cuStreamSynchronize(a));
  OK(cuStreamQuery(a));
  OK(cuStreamQuery(b));

  // A copy of another stream is what a kernel waits for.
  OK(cuMemsetD32_v2(at, 0, 3));
  CUdeviceptr flag = 0;
  OK(cuMemAlloc_v2(&flag, 8));
  OK(cuMemsetD32_v2(flag, 0, 2));
  OK(launch(relay, 1, 1, a, flag, flag + 4));
  const int value = 7;
  OK(cuMemcpyHtoDAsync_v2(flag, &value, 4, b));
  OK(cuStreamSynchronize(a));
  EQUAL(8, read_ints(flag, 2)[1]);
  return result();
}
