// A message between blocks whose flag is relaxed, so that it orders nothing.
#include "../check.h"

#include <cuda/atomic>

__global__ void talk(int* message, int* flag, int* out) {
  cuda::atomic_ref<int, cuda::thread_scope_device> ready(*flag);
  if (blockIdx.x == 0) {
    *message = 42;
    ready.store(1, cuda::memory_order_relaxed);
  } else {
    while (ready.load(cuda::memory_order_relaxed) == 0) {
    }
    *out = *message; // finding: race.weak
  }
}

int main() {
  DeviceArray<int> message(1), flag(1), out(1);
  talk<<<2, 1>>>(message.data(), flag.data(), out.data());
  return result();
}
