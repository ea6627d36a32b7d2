// Eleven atomics of 64 blocks of 256 threads, each on a number of its own.
#include "../check.h"

__global__ void act(int* data) {
  const int thread = blockDim.x * blockIdx.x + threadIdx.x;
  auto* unsigned_data = reinterpret_cast<unsigned*>(data);
  atomicAdd(&data[0], 10);
  atomicSub(&data[1], 10);
  atomicExch(&data[2], thread);
  atomicMax(&data[3], thread);
  atomicMin(&data[4], thread);
  atomicInc(&unsigned_data[5], 17);
  atomicDec(&unsigned_data[6], 137);
  atomicCAS(&data[7], thread - 1, thread);
  atomicAnd(&data[8], 2 * thread + 7);
  atomicOr(&data[9], 1 << (thread % 32));
  atomicXor(&data[10], thread);
}

int main() {
  const int threads = 64 * 256;
  std::vector<int> data(11, 0);
  data[8] = data[10] = 0xff;
  DeviceArray<int> on_device(data);
  act<<<64, 256>>>(on_device.data());
  ok(cudaGetLastError());
  const auto got = on_device.host();
  unsigned increased = 0, decreased = 0;
  int conjunction = 0xff, exclusive = 0xff;
  for (int i = 0; i < threads; ++i) {
    increased = increased >= 17 ? 0 : increased + 1;
    decreased = decreased == 0 || decreased > 137 ? 137 : decreased - 1;
    conjunction &= 2 * i + 7;
    exclusive ^= i;
  }
  equal(10 * threads, got[0]);
  equal(-10 * threads, got[1]);
  expect(got[2] >= 0 && got[2] < threads);
  equal(threads - 1, got[3]);
  equal(0, got[4]);
  equal(increased, got[5]);
  equal(decreased, got[6]);
  expect(got[7] >= 0 && got[7] < threads);
  equal(conjunction, got[8]);
  equal(-1, got[9]);
  equal(exclusive, got[10]);
  return result();
}
