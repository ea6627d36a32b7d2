// The ways to launch: by cudaLaunchKernel, cudaLaunchKernelEx with attributes, through a pointer to a kernel.
#include "check.h"

template <class T> __global__ void scale(T* data, T factor, T offset) {
  data[threadIdx.x] = data[threadIdx.x] * factor + offset;
}

int main() {
  const auto values = small_numbers<double>(64, -100, 100);
  DeviceArray<double> data(values);
  double *pointer = data.data(), factor = 3, offset = -1;
  void* arguments[] = {&pointer, &factor, &offset};
  ok(cudaLaunchKernel(scale<double>, dim3(1), dim3(64), arguments, 0, nullptr));

  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  ok(cudaStreamSynchronize(nullptr));
  cudaLaunchAttribute attribute[1];
  attribute[0].id = cudaLaunchAttributePriority;
  attribute[0].val.priority = 0;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(64);
  config.stream = stream;
  config.attrs = attribute;
  config.numAttrs = 1;
  ok(cudaLaunchKernelEx(&config, scale<double>, pointer, 2.0, 5.0));
  ok(cudaStreamSynchronize(stream));

  void (*kernel)(double*, double, double) = scale<double>;
  kernel<<<1, 64>>>(pointer, 1, 0.5);
  std::vector<double> wanted = values;
  for (double& x : wanted)
    x = (x * 3 - 1) * 2 + 5.5;
  equal(wanted, data.host());
  ok(cudaStreamDestroy(stream));
  return result();
}
