// Calls from atexit handlers and from destructors of static objects, when the library's own might be gone.
#include "check.h"

namespace {

CUdeviceptr memory = 0;
CUmodule module = nullptr;

void last_calls() {
  if (on_gpu()) // NVIDIA's driver has ended by then, and every call says so
    return;
  OK(launch(function(module, "indices"), 1, 32, nullptr, memory));
  EQUAL(31, read_ints(memory, 32)[31]);
  OK(cuMemFree_v2(memory));
  OK(cuModuleUnload(module));
  if (failures)
    _Exit(1);
}

struct AtTheEnd {
  ~AtTheEnd() {
    int count = 0;
    if (on_gpu())
      return;
    if (cuDeviceGetCount(&count) != CUDA_SUCCESS || cuDevicePrimaryCtxRelease_v2(0) != CUDA_SUCCESS)
      _Exit(1);
  }
} at_the_end; // made before anything of the driver

} // namespace

int main() {
  std::atexit(last_calls);
  begin();
  module = load_kernels();
  memory = allocate_ints(32);
  return result();
}
