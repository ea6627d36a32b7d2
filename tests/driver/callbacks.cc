// Functions of the host in streams: in their order, and without the right to call the driver.
#include "check.h"

#include <atomic>

namespace {

std::atomic<int> calls{0};
CUdeviceptr memory = 0;
const int* seen = nullptr;

void host_function(void* data) {
  EQUAL(5, *static_cast<int*>(data));
  CUdeviceptr address = 0;
  FAILS(CUDA_ERROR_NOT_PERMITTED, cuMemAlloc_v2(&address, 16));
  EQUAL(41, seen[0]); // what was in the stream before it
  ++calls;
}

void callback(CUstream, CUresult status, void* data) {
  EQUAL(CUDA_SUCCESS, status);
  CHECK(data == &calls);
  ++calls;
}

} // namespace

int main() {
  begin();
  const CUfunction add = function(load_kernels(), "add");
  OK(cuMemAllocManaged(&memory, 4, CU_MEM_ATTACH_GLOBAL));
  seen = reinterpret_cast<const int*>(memory);
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  int five = 5;
  OK(cuMemsetD32Async(memory, 40, 1, stream));
  OK(launch(add, 1, 1, stream, memory, 1, 1));
  OK(cuLaunchHostFunc(stream, host_function, &five));
  OK(cuStreamAddCallback(stream, callback, &calls, 0));
  OK(launch(add, 1, 1, stream, memory, 1, 1));
  OK(cuStreamSynchronize(stream));
  EQUAL(2, calls.load());
  EQUAL(42, seen[0]);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc(stream, nullptr, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, nullptr, nullptr, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback(stream, callback, nullptr, 1));
  return result();
}
