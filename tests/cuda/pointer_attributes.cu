// Whose memory a pointer is of.
#include "check.h"

__device__ int variable[4];

cudaPointerAttributes of(const void* pointer) {
  cudaPointerAttributes attributes{};
  ok(cudaPointerGetAttributes(&attributes, pointer));
  return attributes;
}

int main() {
  DeviceArray<int> device(16);
  int *pinned = nullptr, *managed = nullptr, plain = 0;
  ok(cudaMallocHost(&pinned, 64));
  ok(cudaMallocManaged(&managed, 64));
  equal(cudaMemoryTypeDevice, of(device.data() + 3).type);
  expect(of(device.data() + 3).devicePointer == device.data() + 3);
  equal(cudaMemoryTypeHost, of(pinned + 2).type);
  expect(of(pinned + 2).hostPointer == pinned + 2);
  equal(cudaMemoryTypeManaged, of(managed).type);
  equal(cudaMemoryTypeUnregistered, of(&plain).type);
  void* address = nullptr;
  ok(cudaGetSymbolAddress(&address, variable));
  equal(cudaMemoryTypeDevice, of(address).type);
  // Copies that find out themselves which way they go.
  plain = 42;
  ok(cudaMemcpy(device.data() + 5, &plain, sizeof plain, cudaMemcpyDefault));
  ok(cudaMemcpy(pinned, device.data() + 5, sizeof plain, cudaMemcpyDefault));
  ok(cudaMemcpy(managed, pinned, sizeof plain, cudaMemcpyDefault));
  ok(cudaMemcpy(address, managed, sizeof plain, cudaMemcpyDefault));
  int back = 0;
  ok(cudaMemcpyFromSymbol(&back, variable, sizeof back));
  equal(42, back);
  ok(cudaFree(managed));
  ok(cudaFreeHost(pinned));
  return result();
}
