// __device__ variables: counters that live from launch to launch, arrays, a pointer that the host sets.
#include "check.h"

__device__ int launches = 10;
__device__ int table[4][4];
__device__ int* target;
static __device__ unsigned long long hidden = 0x123456789abcdef;

__global__ void use() {
  const int i = threadIdx.x;
  if (i == 0)
    ++launches;
  table[i / 4][i % 4] += i;
  if (target)
    target[i] = table[i / 4][i % 4] * 100;
}

__global__ void read_hidden(unsigned long long* out) {
  *out = hidden;
}

int main() {
  use<<<1, 16>>>();
  DeviceArray<int> there(16);
  int* const address = there.data();
  ok(cudaMemcpyToSymbol(target, &address, sizeof address));
  use<<<1, 16>>>();
  int count = 0;
  ok(cudaMemcpyFromSymbol(&count, launches, sizeof count));
  equal(12, count);
  std::vector<int> wanted(16), got(16);
  for (int i = 0; i < 16; ++i)
    wanted[i] = 2 * i;
  ok(cudaMemcpyFromSymbol(got.data(), table, sizeof table));
  equal(wanted, got);
  for (int& x : wanted)
    x *= 100;
  equal(wanted, there.host());
  DeviceArray<unsigned long long> out(1);
  read_hidden<<<1, 1>>>(out.data());
  expect(out.host()[0] == 0x123456789abcdef);
  return result();
}
