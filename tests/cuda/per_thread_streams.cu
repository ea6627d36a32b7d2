// Compiled so that each thread of the host has a default stream of its own.
// nvcc: --default-stream per-thread
#include "check.h"

#include <atomic>
#include <thread>

__global__ void raise(int* flag) {
  atomicExch_system(flag, 1);
}
__global__ void wait_for(int* flag, int* seen) {
  while (atomicAdd_system(flag, 0) == 0) {
  }
  *seen = 1;
}

int main() {
  int *flag = nullptr, *seen = nullptr;
  ok(cudaMallocHost(&flag, sizeof(int)));
  ok(cudaMallocHost(&seen, sizeof(int)));
  raise<<<1, 1>>>(flag); // loaded before the other one waits for it: a GPU's driver loads when nothing runs
  ok(cudaStreamSynchronize(nullptr));
  *flag = *seen = 0;
  std::atomic<bool> launched{false};
  std::thread waiting([&] {
    wait_for<<<1, 1>>>(flag, seen);
    launched = true;
    ok(cudaStreamSynchronize(cudaStreamPerThread));
  });
  while (!launched)
    std::this_thread::yield();
  raise<<<1, 1>>>(flag); // would wait for the other in one stream
  ok(cudaStreamSynchronize(nullptr));
  waiting.join();
  equal(1, *seen);
  ok(cudaFreeHost(flag));
  ok(cudaFreeHost(seen));
  return result();
}
