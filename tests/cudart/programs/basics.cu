// What a first CUDA program does: <<<>>>, templates, constants, managed variables, symbols, events, printf.
#include <cstdio>
#include <vector>

__constant__ float factors[4] = {1, 2, 3, 4};
__device__ int launches = 0;
__managed__ int total = 0;

template <class T, int Times>
__global__ void scale(T* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i == 0)
    ++launches;
  if (i < n)
    x[i] = x[i] * factors[i % 4] * Times;
  atomicAdd(&total, 1);
}

struct Pair {
  int a;
  double b;
};
__global__ void by_value(Pair pair, double* out) {
  *out = pair.a * pair.b;
  if (threadIdx.x == 0)
    printf("a is %d\n", pair.a);
}

#define CHECK(...)                                                                                           \
  if (!(__VA_ARGS__)) {                                                                                      \
    std::printf("line %d: not so: %s (%s)\n", __LINE__, #__VA_ARGS__, cudaGetErrorName(cudaPeekAtLastError())); \
    return 1;                                                                                                \
  }

int main() {
  const int n = 1000;
  std::vector<float> host(n, 1.0f);
  std::vector<double> doubles(n, 1.0);
  float* x = nullptr;
  double* y = nullptr;
  CHECK(cudaMalloc(&x, n * sizeof(float)) == cudaSuccess);
  CHECK(cudaMalloc(&y, n * sizeof(double)) == cudaSuccess);
  CHECK(cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice) == cudaSuccess);
  CHECK(cudaMemcpy(y, doubles.data(), n * sizeof(double), cudaMemcpyHostToDevice) == cudaSuccess);
  total = 5;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  cudaEventRecord(begin);
  scale<float, 2><<<4, 256>>>(x, n);
  scale<double, 3><<<4, 256>>>(y, n);
  cudaEventRecord(end);
  CHECK(cudaEventSynchronize(end) == cudaSuccess);
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess && milliseconds >= 0);
  CHECK(total == 5 + 2048);
  CHECK(cudaMemcpy(host.data(), x, n * sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess);
  CHECK(cudaMemcpy(doubles.data(), y, n * sizeof(double), cudaMemcpyDeviceToHost) == cudaSuccess);
  for (int i = 0; i < n; ++i)
    CHECK(host[i] == 2 * (i % 4 + 1) && doubles[i] == 3 * (i % 4 + 1));
  int count = 0;
  CHECK(cudaMemcpyFromSymbol(&count, launches, sizeof count) == cudaSuccess && count == 2);
  const float half[4] = {0.5f, 0.5f, 0.5f, 0.5f};
  CHECK(cudaMemcpyToSymbol(factors, half, sizeof half) == cudaSuccess);
  const int hundred = 100;
  CHECK(cudaMemcpyToSymbol(total, &hundred, sizeof hundred) == cudaSuccess && total == 100);
  scale<float, 1><<<4, 256>>>(x, n);
  CHECK(cudaMemcpy(host.data(), x, sizeof(float), cudaMemcpyDeviceToHost) == cudaSuccess && host[0] == 1);
  by_value<<<1, 1>>>({7, 0.25}, y);
  CHECK(cudaMemcpy(doubles.data(), y, sizeof(double), cudaMemcpyDeviceToHost) == cudaSuccess && doubles[0] == 1.75);

  // Sizes that the runtime finds.
  int grid = 0, block = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, scale<float, 1>) == cudaSuccess && block == 1024);
  cudaFuncAttributes attributes;
  CHECK(cudaFuncGetAttributes(&attributes, scale<double, 3>) == cudaSuccess && attributes.maxThreadsPerBlock == 1024);
  scale<float, 1><<<1, 4096>>>(x, n); // too many
  CHECK(cudaGetLastError() != cudaSuccess && cudaGetLastError() == cudaSuccess);
  CHECK(cudaDeviceSynchronize() == cudaSuccess);
  std::puts("ok");
}
