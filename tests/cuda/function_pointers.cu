// Pointers to device functions: a table of them in the kernel, and one that the host reads and hands over.
#include "check.h"

using Function = int (*)(int, int);

__device__ __noinline__ int add(int a, int b) {
  return a + b;
}
__device__ __noinline__ int multiply(int a, int b) {
  return a * b;
}
__device__ __noinline__ int power(int a, int b) { // recursion
  return b == 0 ? 1 : a * power(a, b - 1);
}

__device__ Function chosen = multiply;

__global__ void by_table(int* out) {
  const Function table[] = {add, multiply, power};
  out[threadIdx.x] = table[threadIdx.x % 3](threadIdx.x, 3);
}

__global__ void by_argument(Function f, int* out) {
  out[threadIdx.x] = f(threadIdx.x, 7);
}

int main() {
  DeviceArray<int> out(32);
  by_table<<<1, 32>>>(out.data());
  std::vector<int> wanted(32);
  for (int i = 0; i < 32; ++i)
    wanted[i] = i % 3 == 0 ? i + 3 : i % 3 == 1 ? i * 3 : i * i * i;
  equal(wanted, out.host());
  Function function = nullptr;
  ok(cudaMemcpyFromSymbol(&function, chosen, sizeof function));
  by_argument<<<1, 32>>>(function, out.data());
  for (int i = 0; i < 32; ++i)
    wanted[i] = i * 7;
  equal(wanted, out.host());
  return result();
}
