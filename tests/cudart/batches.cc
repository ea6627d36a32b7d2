// Copies and prefetches by the batch.
#include "check.h"

int main() {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  int* x = allocate(256);
  std::vector<int> in(128, 3), out(256, 0);
  OK(launch(indices, 1, 256, 0, stream, x));
  OK(cudaStreamSynchronize(stream));

  void* to[] = {x, x + 192};
  const void* from[] = {in.data(), x + 128};
  size_t bytes[] = {512, 256}, first[] = {0};
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  OK(cudaMemcpyBatchAsync(to, from, bytes, 2, &attributes, first, 1, stream));
  OK(cudaMemcpyAsync(out.data(), x, 1024, cudaMemcpyDeviceToHost, stream));
  OK(cudaStreamSynchronize(stream));
  CHECK(out[0] == 3 && out[127] == 3 && out[128] == 128 && out[192] == 128 && out[255] == 191);
  FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, bytes, 2, &attributes, first, 1, nullptr));
  FAILS(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, bytes, 2, &attributes, first, 3, stream));

  void* managed_memory[2] = {};
  for (void*& each : managed_memory)
    OK(cudaMallocManaged(&each, 4096, cudaMemAttachGlobal));
  size_t sizes[] = {4096, 4096}, where[] = {0, 1};
  cudaMemLocation places[] = {{cudaMemLocationTypeDevice, 0}, {cudaMemLocationTypeHost, 0}};
  OK(cudaMemPrefetchBatchAsync(managed_memory, sizes, 2, places, where, 2, 0, stream));
  OK(cudaMemDiscardBatchAsync(managed_memory, sizes, 2, 0, stream));
  OK(cudaMemDiscardAndPrefetchBatchAsync(managed_memory, sizes, 2, places, where, 1, 0, stream));
  FAILS(cudaErrorInvalidValue, cudaMemDiscardBatchAsync(to, sizes, 1, 0, stream));
  OK(cudaStreamSynchronize(stream));
  for (void* each : managed_memory)
    OK(cudaFree(each));
  return result();
}
