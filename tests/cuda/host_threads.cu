// Several threads of the host, each with its own stream, memory and errors.
#include "check.h"

#include <atomic>
#include <thread>

__global__ void work(int* data, int count, int by) {
  for (int i = threadIdx.x; i < count; i += blockDim.x)
    data[i] += by;
}

int main() {
  const int threads = 6, count = 500;
  DeviceArray<int> shared(threads * count);
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      const auto check = [&](bool good) { wrong += !good; };
      cudaStream_t stream;
      check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
      int* mine = nullptr;
      check(cudaMalloc(&mine, count * sizeof(int)) == cudaSuccess);
      check(cudaMemsetAsync(mine, 0, count * sizeof(int), stream) == cudaSuccess);
      for (int round = 1; round <= 10; ++round)
        work<<<1, 64, 0, stream>>>(mine, count, round * (t + 1));
      check(cudaMemcpyAsync(shared.data() + t * count, mine, count * sizeof(int), cudaMemcpyDeviceToDevice,
                            stream) == cudaSuccess);
      if (t % 2) { // an error is of the thread that made it
        work<<<1, 5000>>>(mine, 0, 0);
        check(cudaGetLastError() == cudaErrorInvalidValue);
      }
      check(cudaStreamSynchronize(stream) == cudaSuccess);
      check(cudaGetLastError() == cudaSuccess);
      check(cudaFree(mine) == cudaSuccess);
      check(cudaStreamDestroy(stream) == cudaSuccess);
    });
  for (std::thread& thread : all)
    thread.join();
  equal(0, wrong);
  std::vector<int> wanted;
  for (int t = 0; t < threads; ++t)
    wanted.insert(wanted.end(), count, 55 * (t + 1));
  equal(wanted, shared.host());
  return result();
}
