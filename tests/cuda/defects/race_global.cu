// Blocks count in one word without an atomic.
#include "../check.h"

template <class T> __global__ void count(const T* in, int* total) {
  if (in[blockIdx.x * blockDim.x + threadIdx.x] > 50)
    ++*total; // finding: race.global
}

int main() {
  DeviceArray<int> in(small_numbers<int>(256, 0, 100)), total(1);
  count<<<4, 64>>>(in.data(), total.data());
  return result();
}
