// Libraries that a program loads itself.
#include "check.h"

int main() {
  const std::string text = text_of_file(KERNELS);
  cudaLibrary_t library = nullptr, from_file = nullptr;
  OK(cudaLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cudaLibraryLoadFromFile(&from_file, KERNELS, nullptr, nullptr, 0, nullptr, nullptr, 0));
  unsigned kernels_there = 0;
  OK(cudaLibraryGetKernelCount(&kernels_there, library));
  CHECK(kernels_there > 10);
  std::vector<cudaKernel_t> all(kernels_there);
  OK(cudaLibraryEnumerateKernels(all.data(), kernels_there, library));
  cudaKernel_t kernel = nullptr;
  OK(cudaLibraryGetKernel(&kernel, library, "indices"));
  FAILS(cudaErrorSymbolNotFound, cudaLibraryGetKernel(&kernel, library, "none"));
  int* x = allocate(32);
  void* arguments[] = {&x};
  OK(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), 1, 32, arguments, 0, nullptr));
  EQUAL(31, read_ints(x, 32)[31]);
  void* at = nullptr;
  size_t bytes = 0;
  OK(cudaLibraryGetGlobal(&at, &bytes, library, "counter"));
  EQUAL(7, read_ints(static_cast<int*>(at), 1)[0]);
  OK(cudaLibraryGetManaged(&at, &bytes, library, "managed"));
  EQUAL(5, *static_cast<int*>(at));
  OK(cudaLibraryUnload(library));
  OK(cudaLibraryUnload(from_file));
  return result();
}
