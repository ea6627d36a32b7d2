// malloc, free, new and delete in kernels; what one launch allocates another one uses; the heap's size.
#include "check.h"

struct Pair {
  int a, b;
};

__global__ void allocate(int** blocks, int count) {
  auto* mine = static_cast<int*>(malloc(count * sizeof(int)));
  blocks[threadIdx.x] = mine;
  for (int i = 0; mine && i < count; ++i)
    mine[i] = threadIdx.x * 1000 + i;
}
__global__ void add_up(int** blocks, int count, int* sums) {
  int sum = 0;
  for (int i = 0; i < count; ++i)
    sum += blocks[threadIdx.x][i];
  sums[threadIdx.x] = sum;
  free(blocks[threadIdx.x]);
}
__global__ void within_one(int* out) {
  auto* pairs = new Pair[3];
  for (int i = 0; i < 3; ++i)
    pairs[i] = {i, static_cast<int>(threadIdx.x)};
  out[threadIdx.x] = pairs[2].a * pairs[1].b;
  delete[] pairs;
  free(nullptr);
}
__global__ void too_much(int* refused) {
  *refused = malloc(size_t{1} << 40) == nullptr;
}

int main() {
  size_t heap = 0;
  ok(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
  expect(heap >= 8u << 20);
  const int count = 20;
  DeviceArray<int*> blocks(64);
  DeviceArray<int> sums(64), refused(1);
  allocate<<<1, 64>>>(blocks.data(), count);
  add_up<<<1, 64>>>(blocks.data(), count, sums.data());
  std::vector<int> wanted(64);
  for (int i = 0; i < 64; ++i)
    wanted[i] = count * i * 1000 + count * (count - 1) / 2;
  equal(wanted, sums.host());
  within_one<<<1, 64>>>(sums.data());
  for (int i = 0; i < 64; ++i)
    wanted[i] = 2 * i;
  equal(wanted, sums.host());
  too_much<<<1, 1>>>(refused.data());
  equal(1, refused.host()[0]);
  return result();
}
