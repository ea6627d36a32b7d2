// Host and kernel hand a ball to each other through pinned memory, by atomics of the system's scope.
#include "check.h"

#include <cuda/atomic>

using Flag = cuda::atomic<int, cuda::thread_scope_system>;

__global__ void play(Flag* flag, int rounds, int* sum) {
  for (int round = 0; round < rounds; ++round) {
    while (flag->load(cuda::memory_order_acquire) != 2 * round + 1) {
    }
    *sum += round;
    flag->store(2 * round + 2, cuda::memory_order_release);
  }
}

int main() {
  Flag* flag = nullptr;
  int* sum = nullptr;
  ok(cudaMallocHost(&flag, sizeof(Flag)));
  ok(cudaMallocHost(&sum, sizeof(int)));
  new (flag) Flag(0);
  *sum = 0;
  const int rounds = 10;
  play<<<1, 1>>>(flag, rounds, sum);
  ok(cudaGetLastError());
  cudaStreamQuery(nullptr); // some drivers keep launches back until somebody asks
  cudaGetLastError();       // not ready
  for (int round = 0; round < rounds; ++round) {
    flag->store(2 * round + 1, cuda::memory_order_release);
    while (flag->load(cuda::memory_order_acquire) != 2 * round + 2) {
    }
    equal(round * (round + 1) / 2, *sum);
  }
  ok(cudaDeviceSynchronize());
  ok(cudaFreeHost(flag));
  ok(cudaFreeHost(sum));
  return result();
}
