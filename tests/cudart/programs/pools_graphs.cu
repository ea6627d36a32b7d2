// Streams, events, pools, a captured graph, kernels that follow each other by a programmatic launch.
#include <cstdio>
#include <vector>

__global__ void fill(int* x, int value, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] = value + i;
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

__global__ void add(int* x, const int* y, int n) {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    x[i] += y[i];
}

#define CHECK(...)                                                                                           \
  if (const cudaError_t error = (__VA_ARGS__); error != cudaSuccess)                                         \
    return std::printf("line %d: %s\n", __LINE__, cudaGetErrorName(error)), 1;

int main() {
  const int n = 2000;
  cudaStream_t a, b;
  CHECK(cudaStreamCreate(&a));
  CHECK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
  int *x = nullptr, *y = nullptr;
  CHECK(cudaMallocAsync(&x, n * sizeof(int), a));
  CHECK(cudaMallocAsync(&y, n * sizeof(int), a));
  cudaEvent_t there, back;
  CHECK(cudaEventCreateWithFlags(&there, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&back, cudaEventDisableTiming));

  CHECK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
  fill<<<8, 256, 0, a>>>(x, 100, n);
  CHECK(cudaEventRecord(there, a));
  CHECK(cudaStreamWaitEvent(b, there));
  fill<<<8, 256, 0, b>>>(y, 1000, n);
  CHECK(cudaEventRecord(back, b));
  CHECK(cudaStreamWaitEvent(a, back));
  cudaLaunchConfig_t config = {};
  config.gridDim = 8;
  config.blockDim = 256;
  config.stream = a;
  CHECK(cudaLaunchKernelEx(&config, add, x, static_cast<const int*>(y), n));
  cudaGraph_t graph;
  CHECK(cudaStreamEndCapture(a, &graph));
  cudaGraphExec_t exec;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, a));
  CHECK(cudaGraphLaunch(exec, a));
  std::vector<int> got(n);
  CHECK(cudaMemcpyAsync(got.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost, a));
  CHECK(cudaStreamSynchronize(a));
  for (int i = 0; i < n; ++i)
    if (got[i] != 1100 + 2 * i)
      return std::printf("%d is %d\n", i, got[i]), 1;

  fill<<<8, 256, 0, a>>>(x, 0, n);
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &attribute;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, add, x, static_cast<const int*>(y), n));
  CHECK(cudaMemcpyAsync(got.data(), x, n * sizeof(int), cudaMemcpyDeviceToHost, a));
  CHECK(cudaFreeAsync(x, a));
  CHECK(cudaFreeAsync(y, a));
  CHECK(cudaStreamSynchronize(a));
  if (got[1999] != 1999 + 1000 + 1999)
    return std::printf("the last is %d\n", got[1999]), 1;
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamDestroy(a));
  CHECK(cudaStreamDestroy(b));
  std::puts("ok");
}
