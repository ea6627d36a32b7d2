// Arrays of a thread that are indexed by values, recursion with them, and alloca.
#include "check.h"

__device__ __noinline__ int depth_first(int* path, int depth, int limit) { // counts arrangements
  if (depth == limit)
    return 1;
  int found = 0;
  for (int value = 0; value < limit; ++value) {
    bool used = false;
    for (int i = 0; i < depth; ++i)
      used |= path[i] == value || path[i] - value == i - depth || path[i] - value == depth - i;
    if (!used) {
      path[depth] = value;
      found += depth_first(path, depth + 1, limit);
    }
  }
  return found;
}

__global__ void queens(int* out) {
  int path[8];
  out[threadIdx.x] = depth_first(path, 0, threadIdx.x + 1);
}

__global__ void reverse(const int* in, int* out, int count) {
  auto* mine = static_cast<int*>(alloca(count * sizeof(int)));
  for (int i = 0; i < count; ++i)
    mine[i] = in[(i + threadIdx.x) % count];
  for (int i = 0; i < count; ++i)
    out[threadIdx.x * count + i] = mine[count - 1 - i];
}

int main() {
  ok(cudaDeviceSetLimit(cudaLimitStackSize, 8192));
  DeviceArray<int> out(6);
  queens<<<1, 6>>>(out.data());
  equal(std::vector<int>{1, 0, 0, 2, 10, 4}, out.host());
  const int count = 13;
  const auto values = small_numbers<int>(count, 0, 100);
  DeviceArray<int> in(values), reversed(32 * count);
  reverse<<<1, 32>>>(in.data(), reversed.data(), count);
  const auto got = reversed.host();
  for (int thread = 0; thread < 32; ++thread)
    for (int i = 0; i < count; ++i)
      equal(values[(count - 1 - i + thread) % count], got[thread * count + i]);
  return result();
}
