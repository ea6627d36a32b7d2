// 2^24 integers, to which a kernel adds five times, and a copy to pinned memory: 100 times one after the other, and 100 times
// in four streams that have a quarter each.
#include "../check.h"

#include <cstring>

__global__ void add_often(int* data, const int* step, int times) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < times; ++k)
    data[i] += *step;
}

int main() {
  const int count = 16 << 20, streams = 4, rounds = 100, times = 5, block = 512;
  DeviceArray<int> data(count), step(std::vector<int>{5});
  int* host = nullptr;
  ok(cudaMallocHost(&host, data.bytes()));
  cudaEvent_t begin, end;
  ok(cudaEventCreateWithFlags(&begin, cudaEventBlockingSync));
  ok(cudaEventCreateWithFlags(&end, cudaEventBlockingSync));
  const auto seconds = [&] {
    ok(cudaEventRecord(end));
    ok(cudaEventSynchronize(end));
    float milliseconds = 0;
    ok(cudaEventElapsedTime(&milliseconds, begin, end));
    return milliseconds / 1000;
  };
  const auto compare = [&] {
    for (int i = 0; i < count; ++i)
      if (host[i] != 5 * times * rounds) {
        equal(5 * times * rounds, host[i]);
        return;
      }
  };

  ok(cudaEventRecord(begin));
  for (int k = 0; k < rounds; ++k) {
    add_often<<<count / block, block>>>(data.data(), step.data(), times);
    ok(cudaMemcpy(host, data.data(), data.bytes(), cudaMemcpyDeviceToHost));
  }
  std::printf("one after the other: %.3f s\n", seconds());
  compare();

  std::memset(host, 0xff, data.bytes());
  ok(cudaMemset(data.data(), 0, data.bytes()));
  cudaStream_t stream[streams];
  for (cudaStream_t& each : stream)
    ok(cudaStreamCreate(&each));
  const int part = count / streams;
  ok(cudaEventRecord(begin));
  for (int k = 0; k < rounds; ++k) {
    for (int i = 0; i < streams; ++i)
      add_often<<<part / block, block, 0, stream[i]>>>(data.data() + i * part, step.data(), times);
    for (int i = 0; i < streams; ++i)
      ok(cudaMemcpyAsync(host + i * part, data.data() + i * part, part * sizeof(int), cudaMemcpyDeviceToHost, stream[i]));
  }
  std::printf("in %d streams: %.3f s\n", streams, seconds());
  compare();
  for (const cudaStream_t each : stream)
    ok(cudaStreamDestroy(each));
  ok(cudaEventDestroy(begin));
  ok(cudaEventDestroy(end));
  ok(cudaFreeHost(host));
  return result();
}
