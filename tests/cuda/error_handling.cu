// Errors of calls: what is refused, what is remembered, names and texts.
#include "check.h"

#include <cstring>

__global__ void nothing(int) {}

int main() {
  ok(cudaGetLastError());
  nothing<<<1, 2048>>>(0);
  fails(cudaErrorInvalidValue, cudaPeekAtLastError());
  fails(cudaErrorInvalidValue, cudaGetLastError());
  ok(cudaGetLastError());
  nothing<<<0, 32>>>(0);
  fails(cudaErrorInvalidValue, cudaGetLastError());
  nothing<<<1, 32, 1 << 20>>>(0);
  fails(cudaErrorInvalidValue, cudaGetLastError());
  nothing<<<dim3(1, 70000), 32>>>(0);
  fails(cudaErrorInvalidValue, cudaGetLastError());

  void* memory = nullptr;
  fails(cudaErrorMemoryAllocation, cudaMalloc(&memory, size_t{1} << 46));
  fails(cudaErrorMemoryAllocation, cudaGetLastError());
  ok(cudaMalloc(&memory, 0));
  expect(memory == nullptr);
  ok(cudaFree(nullptr));
  int on_stack = 0;
  fails(cudaErrorInvalidValue, cudaFree(&on_stack));
  cudaGetLastError();
  fails(cudaErrorInvalidDevice, cudaSetDevice(1000));
  cudaGetLastError();
  fails(cudaErrorInvalidValue, cudaMemcpy(nullptr, &on_stack, 4, cudaMemcpyHostToDevice));
  cudaGetLastError();
  fails(cudaErrorInvalidMemcpyDirection,
        cudaMemcpy(&on_stack, &on_stack, 4, static_cast<cudaMemcpyKind>(77)));
  cudaGetLastError();
  fails(cudaErrorInvalidResourceHandle,
        cudaLaunchKernel(reinterpret_cast<const void*>(&on_stack), dim3(1), dim3(1), nullptr, 0, nullptr));
  cudaGetLastError();
  expect(std::strcmp(cudaGetErrorName(cudaErrorMemoryAllocation), "cudaErrorMemoryAllocation") == 0);
  expect(std::strcmp(cudaGetErrorString(cudaErrorMemoryAllocation), "out of memory") == 0);
  expect(std::strcmp(cudaGetErrorString(cudaSuccess), "no error") == 0);
  expect(std::strcmp(cudaGetErrorName(static_cast<cudaError_t>(12345)), "unrecognized error code") == 0);
  nothing<<<1, 32>>>(0);
  return result();
}
