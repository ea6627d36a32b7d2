// Functions of the host in the order of a stream: cudaLaunchHostFunc and cudaStreamAddCallback.
#include "check.h"

__global__ void add(int* value, int by) {
  *value += by;
}

struct Seen {
  int* value;
  int values[4];
  int count = 0;
  cudaError_t status = cudaErrorUnknown;
};

void CUDART_CB look(void* data) {
  auto* seen = static_cast<Seen*>(data);
  seen->values[seen->count++] = *seen->value;
}

void CUDART_CB look_and_keep_status(cudaStream_t, cudaError_t status, void* data) {
  look(data);
  static_cast<Seen*>(data)->status = status;
}

int main() {
  Seen seen;
  ok(cudaHostAlloc(&seen.value, sizeof(int), cudaHostAllocDefault));
  *seen.value = 1;
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  ok(cudaLaunchHostFunc(stream, look, &seen));
  add<<<1, 1, 0, stream>>>(seen.value, 10);
  ok(cudaLaunchHostFunc(stream, look, &seen));
  add<<<1, 1, 0, stream>>>(seen.value, 100);
  ok(cudaStreamAddCallback(stream, look_and_keep_status, &seen, 0));
  add<<<1, 1, 0, stream>>>(seen.value, 1000);
  ok(cudaStreamSynchronize(stream));
  equal(3, seen.count);
  equal(1, seen.values[0]);
  equal(11, seen.values[1]);
  equal(111, seen.values[2]);
  equal(1111, *seen.value);
  ok(seen.status);
  ok(cudaStreamDestroy(stream));
  ok(cudaFreeHost(seen.value));
  return result();
}
