// Work in several streams, each with its own copies from and to pinned memory; queries; priorities; flags.
#include "check.h"

__global__ void scale(int* data, int count, int factor) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    data[i] = data[i] * factor + i;
}

int main() {
  const int streams = 4, count = 10000;
  int lowest = 0, highest = 0;
  ok(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
  expect(highest < lowest);
  int* host = nullptr;
  ok(cudaMallocHost(&host, streams * count * sizeof(int)));
  for (int i = 0; i < streams * count; ++i)
    host[i] = i % 1000;
  DeviceArray<int> device(streams * count);
  cudaStream_t stream[streams];
  for (int s = 0; s < streams; ++s) {
    if (s == 0)
      ok(cudaStreamCreate(&stream[s]));
    else if (s == 1)
      ok(cudaStreamCreateWithFlags(&stream[s], cudaStreamNonBlocking));
    else
      ok(cudaStreamCreateWithPriority(&stream[s], cudaStreamNonBlocking, s == 2 ? lowest : highest));
    int* const at = device.data() + s * count;
    ok(cudaMemcpyAsync(at, host + s * count, count * sizeof(int), cudaMemcpyHostToDevice, stream[s]));
    scale<<<8, 128, 0, stream[s]>>>(at, count, s + 2);
    ok(cudaMemcpyAsync(host + s * count, at, count * sizeof(int), cudaMemcpyDeviceToHost, stream[s]));
  }
  for (int s = 0; s < streams; ++s) {
    ok(cudaStreamSynchronize(stream[s]));
    ok(cudaStreamQuery(stream[s]));
    for (int i = 0; i < count; ++i)
      equal((s * count + i) % 1000 * (s + 2) + i, host[s * count + i]);
    unsigned flags = 9;
    int priority = 9;
    ok(cudaStreamGetFlags(stream[s], &flags));
    ok(cudaStreamGetPriority(stream[s], &priority));
    equal(s == 0 ? cudaStreamDefault : cudaStreamNonBlocking, flags);
    equal(s == 3 ? highest : lowest, priority);
    ok(cudaStreamDestroy(stream[s]));
  }
  ok(cudaFreeHost(host));
  return result();
}
