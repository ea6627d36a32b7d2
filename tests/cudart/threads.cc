// Host threads: the first calls of all come at the same time, and each launches what all have registered.
#include "check.h"

#include <atomic>
#include <thread>

int main() {
  constexpr int kThreads = 8;
  std::atomic<int> ready{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const auto ok = [&](cudaError_t error) { wrong += error != cudaSuccess; };
      ++ready;
      while (ready < kThreads)
        ;
      void* memory = nullptr;
      cudaStream_t stream = nullptr;
      std::vector<int> back(256);
      if (t % 2 == 0)
        ok(__cudaInitModule(kernels.handle) == 1 ? cudaSuccess : cudaErrorUnknown);
      ok(cudaMalloc(&memory, 1024));
      ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      int* x = static_cast<int*>(memory);
      for (int i = 0; i < 10; ++i) {
        ok(launch(indices, 1, 256, 0, stream, x));
        ok(launch(add, 1, 256, 0, stream, x, t, 256));
        ok(cudaMemcpyAsync(back.data(), x, 1024, cudaMemcpyDeviceToHost, stream));
        ok(cudaStreamSynchronize(stream));
        wrong += back[255] != 255 + t;
      }
      // Each has its own last error.
      wrong +=
          cudaMemcpy(x, x + 8, 4, static_cast<cudaMemcpyKind>(t % 2 ? 9 : 3)) != cudaSuccess && t % 2 == 0;
      wrong += cudaGetLastError() != (t % 2 ? cudaErrorInvalidMemcpyDirection : cudaSuccess);
      ok(cudaStreamDestroy(stream));
      ok(cudaFree(memory));
    });
  for (std::thread& each : threads)
    each.join();
  EQUAL(0, wrong.load());
  return result();
}
