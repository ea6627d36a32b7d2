// A failed assertion is an error that stays.
#undef NDEBUG
#include "check.h"

#include <cassert>

__global__ void assert_below(int bound) {
  assert(static_cast<int>(threadIdx.x) < bound);
}

int main() {
  assert_below<<<1, 32>>>(32);
  ok(cudaDeviceSynchronize());
  assert_below<<<1, 32>>>(31);
  fails(cudaErrorAssert, cudaDeviceSynchronize());
  void* memory = nullptr;
  fails(cudaErrorAssert, cudaMalloc(&memory, 16));
  fails(cudaErrorAssert, cudaGetLastError());
  return failures ? 1 : 0;
}
