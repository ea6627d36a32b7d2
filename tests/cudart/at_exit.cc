// Calls from atexit handlers and from destructors of static objects, as programs and nvcc's host code make
// them; and before main.
#include "check.h"

namespace {

int* memory = nullptr;

void last_calls() {
  OK(launch(indices, 1, 32, 0, nullptr, memory));
  EQUAL(31, read_ints(memory, 32)[31]);
  OK(cudaFree(memory));
  kernels.unregister();
  if (failures)
    _Exit(1);
}

struct AtBothEnds {
  AtBothEnds() { OK(cudaMalloc(reinterpret_cast<void**>(&memory), 128)); }
  ~AtBothEnds() {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || cudaDeviceReset() != cudaSuccess || failures)
      _Exit(1);
  }
} at_both_ends;

} // namespace

int main() {
  std::atexit(last_calls);
  CHECK(memory != nullptr);
  return result();
}
