// A block turns a tile round and forgets the barrier before it reads.
#include "../check.h"

__global__ void reverse(const int* in, int* out) {
  __shared__ int tile[128];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[127 - threadIdx.x]; // finding: race.shared
}

int main() {
  DeviceArray<int> in(small_numbers<int>(128, 0, 100)), out(128);
  reverse<<<1, 128>>>(in.data(), out.data());
  return result();
}
