// Events: order between streams, times, queries before and after.
#include "check.h"

__global__ void fill(int* data, int value, int rounds) {
  int x = value;
  for (int i = 0; i < rounds; ++i)
    x = x * 5 + 1;
  data[threadIdx.x] = rounds ? value + (x & 1) : value;
}
__global__ void add(const int* in, int* out) {
  out[threadIdx.x] += in[threadIdx.x];
}

int main() {
  DeviceArray<int> data(64), sum(64);
  cudaStream_t a, b;
  ok(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  ok(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  cudaEvent_t filled, added, begin, end;
  ok(cudaEventCreateWithFlags(&filled, cudaEventDisableTiming));
  ok(cudaEventCreateWithFlags(&added, cudaEventDisableTiming | cudaEventBlockingSync));
  ok(cudaEventCreate(&begin));
  ok(cudaEventCreate(&end));
  ok(cudaEventQuery(filled)); // never recorded: nothing to wait for
  ok(cudaEventRecord(begin, a));
  for (int round = 1; round <= 5; ++round) {
    fill<<<1, 64, 0, a>>>(data.data(), round, 0);
    ok(cudaEventRecord(filled, a));
    ok(cudaStreamWaitEvent(b, filled));
    add<<<1, 64, 0, b>>>(data.data(), sum.data());
    ok(cudaEventRecord(added, b));
    ok(cudaStreamWaitEvent(a, added, 0));
  }
  ok(cudaEventRecord(end, a));
  ok(cudaEventSynchronize(end));
  ok(cudaEventQuery(end));
  float milliseconds = -1;
  ok(cudaEventElapsedTime(&milliseconds, begin, end));
  expect(milliseconds >= 0 && milliseconds < 60000);
  fails(cudaErrorInvalidResourceHandle, cudaEventElapsedTime(&milliseconds, filled, end));
  cudaGetLastError();
  ok(cudaStreamSynchronize(b));
  equal(std::vector<int>(64, 15), sum.host());
  for (const cudaEvent_t event : {filled, added, begin, end})
    ok(cudaEventDestroy(event));
  ok(cudaStreamDestroy(a));
  ok(cudaStreamDestroy(b));
  return result();
}
