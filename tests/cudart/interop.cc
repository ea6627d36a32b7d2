// The runtime and the driver in one program: contexts, handles and memory are the same.
#include "check.h"

#include "driver/types.h"

namespace {

template <class Function>
Function* driver(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult query = cudaDriverEntryPointSymbolNotFound;
  OK(cudaGetDriverEntryPointByVersion(name, &function, 13000, cudaEnableDefault, &query));
  return reinterpret_cast<Function*>(function);
}

} // namespace

int main() {
  const auto get_current = driver<CUresult(CUcontext*)>("cuCtxGetCurrent");
  const auto create = driver<CUresult(CUcontext*, void*, unsigned, CUdevice)>("cuCtxCreate");
  const auto destroy = driver<CUresult(CUcontext)>("cuCtxDestroy");
  const auto launch_kernel = driver<CUresult(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                                             unsigned, unsigned, CUstream, void**, void**)>("cuLaunchKernel");
  // No context before it is needed.
  CUcontext context = nullptr, own = nullptr, current = nullptr;
  CHECK(get_current(&context) == CUDA_SUCCESS && !context);
  int* x = allocate(32);
  CHECK(get_current(&context) == CUDA_SUCCESS && context);
  cudaKernel_t kernel = nullptr;
  OK(cudaGetKernel(&kernel, &indices));
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreate(&stream));
  void* arguments[] = {&x};
  CHECK(launch_kernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 32, 1, 1, 0, stream, arguments,
                      nullptr) == CUDA_SUCCESS);
  OK(cudaStreamSynchronize(stream));
  EQUAL(31, read_ints(x, 32)[31]);

  // A context of the program's own stays current, and is used.
  CHECK(create(&own, nullptr, 0, 0) == CUDA_SUCCESS);
  int* y = allocate(32);
  OK(launch(indices, 1, 32, 0, nullptr, y));
  EQUAL(31, read_ints(y, 32)[31]);
  CHECK(get_current(&current) == CUDA_SUCCESS && current == own);
  OK(cudaSetDevice(0));
  CHECK(get_current(&current) == CUDA_SUCCESS && current == context);
  CHECK(destroy(own) == CUDA_SUCCESS);
  OK(launch(indices, 1, 32, 0, stream, x));
  OK(cudaDeviceSynchronize());
  return result();
}
