// Programmatic dependent launches: the second kernel begins early, and waits before it reads what the first writes.
#include "check.h"

__global__ void produce(int* data, int value) {
  cudaTriggerProgrammaticLaunchCompletion();
  data[blockIdx.x * blockDim.x + threadIdx.x] = value + threadIdx.x;
}
__global__ void consume(const int* data, const int* weights, int* out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int weight = weights[threadIdx.x]; // nobody writes them
  cudaGridDependencySynchronize();
  out[i] += data[i] * weight;
}

int main() {
  const auto weights = small_numbers<int>(128, 1, 9);
  DeviceArray<int> data(8 * 128), out(8 * 128), dweights(weights);
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  cudaLaunchAttribute early[1];
  early[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(8);
  config.blockDim = dim3(128);
  config.stream = stream;
  config.attrs = early;
  config.numAttrs = 1;
  for (int round = 0; round < 4; ++round) {
    produce<<<8, 128, 0, stream>>>(data.data(), round);
    ok(cudaLaunchKernelEx(&config, consume, static_cast<const int*>(data.data()),
                          static_cast<const int*>(dweights.data()), out.data()));
  }
  ok(cudaStreamSynchronize(stream));
  std::vector<int> wanted(8 * 128);
  for (int i = 0; i < 8 * 128; ++i)
    wanted[i] = (6 + 4 * (i % 128)) * weights[i % 128];
  equal(wanted, out.host());
  ok(cudaStreamDestroy(stream));
  return result();
}
