// A programmatic dependent launch that reads ahead of the wait what the kernel before it writes.
#include "../check.h"

__global__ void produce(int* data) {
  cudaTriggerProgrammaticLaunchCompletion();
  data[threadIdx.x] = threadIdx.x;
}
__global__ void consume(int* data, int* out) {
  const int value = data[threadIdx.x]; // finding: warp.griddepcontrol
  cudaGridDependencySynchronize();
  out[threadIdx.x] = value;
}

int main() {
  DeviceArray<int> data(64), out(64);
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  cudaLaunchAttribute early[1];
  early[0].id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early[0].val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  config.stream = stream;
  config.attrs = early;
  config.numAttrs = 1;
  produce<<<1, 64, 0, stream>>>(data.data());
  ok(cudaLaunchKernelEx(&config, consume, data.data(), out.data()));
  ok(cudaStreamSynchronize(stream));
  return result();
}
