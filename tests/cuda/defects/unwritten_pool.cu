// What a pool or cudaMallocManaged gives is added to before anybody has written it. What a copy, a fill, a
// kernel or the host has written, in whichever order of streams, is written; and so are pages that the host
// has touched.
#include "../check.h"

__global__ void add_of_pool(const int* in, int* out) {
  const int found = in[threadIdx.x];
  out[threadIdx.x] = found + 1; // finding: memory.undefined
}

__global__ void add_of_managed(const int* in, int* out) {
  const int found = in[threadIdx.x];
  out[threadIdx.x] = found + 2; // finding: memory.undefined
}

__global__ void count(int* total) {
  atomicAdd(total, 1); // finding: memory.undefined
}

__global__ void add_of_written(const int* in, int* out) {
  const int found = in[threadIdx.x];
  out[threadIdx.x] = found + 3;
}

constexpr int kCount = 32, kPageInts = 1024;

int* of_pool(cudaStream_t stream) {
  int* memory = nullptr;
  ok(cudaMallocAsync(&memory, kCount * sizeof(int), stream));
  return memory;
}

int* managed(int count) {
  int* memory = nullptr;
  ok(cudaMallocManaged(&memory, static_cast<size_t>(count) * sizeof(int)));
  return memory;
}

int main() {
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  int* const in = of_pool(stream);
  int* const out = of_pool(stream);
  add_of_pool<<<1, kCount, 0, stream>>>(in, out);
  count<<<1, kCount, 0, stream>>>(of_pool(stream));
  int* const filled = of_pool(stream);
  ok(cudaMemsetAsync(filled, 0, kCount * sizeof(int), stream));
  add_of_written<<<1, kCount, 0, stream>>>(filled, out);
  // Freed and given again.
  ok(cudaFreeAsync(filled, stream));
  count<<<1, kCount, 0, stream>>>(of_pool(stream));
  ok(cudaStreamSynchronize(stream));

  int* const nobodys = managed(kCount);
  add_of_managed<<<1, kCount>>>(nobodys, out);
  ok(cudaDeviceSynchronize());
  int* const hosts = managed(4 * kPageInts);
  for (int i = 0; i < kCount; ++i)
    hosts[kPageInts + i] = i;
  add_of_written<<<1, kCount>>>(hosts + kPageInts, out);
  ok(cudaMemset(hosts + 2 * kPageInts, 0, kCount * sizeof(int)));
  add_of_written<<<1, kCount>>>(hosts + 2 * kPageInts, out);
  ok(cudaDeviceSynchronize());
  add_of_written<<<1, kCount>>>(out, hosts); // a kernel has written it
  add_of_written<<<1, kCount>>>(hosts, out);
  ok(cudaDeviceSynchronize());
  equal(5, hosts[kPageInts + 5]);
  equal(0, hosts[3 * kPageInts]); // zeros stand where nobody has written
  return result();
}
