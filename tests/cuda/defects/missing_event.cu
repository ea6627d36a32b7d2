// Two streams, and no event between what the one writes and the other reads.
#include "../check.h"

__global__ void produce(int* data) {
  data[threadIdx.x] = threadIdx.x;
}
__global__ void consume(const int* data, int* out) {
  out[threadIdx.x] = data[threadIdx.x] * 2; // finding: stream.race
}

int main() {
  DeviceArray<int> data(64), out(64);
  cudaStream_t a, b;
  ok(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking));
  ok(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  ok(cudaDeviceSynchronize());
  produce<<<1, 64, 0, a>>>(data.data());
  consume<<<1, 64, 0, b>>>(data.data(), out.data());
  return result();
}
