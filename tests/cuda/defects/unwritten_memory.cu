// What cudaMalloc gives is read before anybody has written it: added to, decided by, counted with. A copy of
// it is no use, and what the host has set is written.
#include "../check.h"

__global__ void add_one(const int* in, int* out) {
  const int found = in[threadIdx.x];
  out[threadIdx.x] = found + 1; // finding: memory.undefined
}

__global__ void mark_large(const int* in, int* out) {
  if (in[threadIdx.x] > 3) // finding: memory.undefined
    out[threadIdx.x] = 1;
}

__global__ void count(int* total) {
  atomicAdd(total, 1); // finding: memory.undefined
}

__global__ void count_cleared(int* total) {
  atomicAdd(total, 1);
}

__global__ void copy(const int* in, int* out) {
  out[threadIdx.x] = in[threadIdx.x];
}

int* unwritten(size_t count) {
  int* memory = nullptr;
  ok(cudaMalloc(&memory, count * sizeof(int)));
  return memory;
}

int main() {
  int* const in = unwritten(32);
  int* const out = unwritten(32);
  const DeviceArray<int> cleared(1);
  add_one<<<1, 32>>>(in, out);
  mark_large<<<1, 32>>>(in, out);
  count<<<2, 32>>>(unwritten(1));
  count_cleared<<<2, 32>>>(cleared.data());
  copy<<<1, 32>>>(in, out);
  return result();
}
