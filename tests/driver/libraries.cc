// Libraries: without a context at first, and each context with variables of its own.
#include "check.h"

int main() {
  OK(cuInit(0));
  CUlibrary library = nullptr, from_file = nullptr;
  const std::string text = kernels_text();
  OK(cuLibraryLoadData(&library, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(cuLibraryLoadFromFile(&from_file, KERNELS, nullptr, nullptr, 0, nullptr, nullptr, 0));
  FAILS(CUDA_ERROR_FILE_NOT_FOUND,
        cuLibraryLoadFromFile(&from_file, "/no/such/file", nullptr, nullptr, 0, nullptr, nullptr, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuLibraryLoadData(nullptr, text.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUkernel kernel = nullptr;
  OK(cuLibraryGetKernel(&kernel, library, "add"));
  FAILS(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&kernel, library, "no_such_kernel"));
  unsigned count = 0;
  OK(cuLibraryGetKernelCount(&count, library));
  CHECK(count >= 20);
  std::vector<CUkernel> all(count);
  OK(cuLibraryEnumerateKernels(all.data(), count, library));
  const char* name = nullptr;
  OK(cuKernelGetName(&name, kernel));
  CHECK(std::string(name) == "add");
  CUlibrary its = nullptr;
  OK(cuKernelGetLibrary(&its, kernel));
  CHECK(its == library);
  CUdeviceptr counter = 0, other_counter = 0;
  size_t bytes = 0;
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuLibraryGetGlobal(&counter, &bytes, library, "counter"));

  begin();
  OK(cuLibraryGetGlobal(&counter, &bytes, library, "counter"));
  EQUAL(size_t{4}, bytes);
  EQUAL(7, read_ints(counter, 1)[0]);
  write_ints(counter, {70});
  CUdeviceptr managed = 0;
  OK(cuLibraryGetManaged(&managed, &bytes, library, "managed"));
  EQUAL(5, *reinterpret_cast<int*>(managed));
  FAILS(CUDA_ERROR_NOT_FOUND, cuLibraryGetManaged(&managed, &bytes, library, "counter"));
  CUmodule module = nullptr, again = nullptr;
  OK(cuLibraryGetModule(&module, library));
  OK(cuLibraryGetModule(&again, library));
  CHECK(module == again);
  FAILS(CUDA_ERROR_NOT_PERMITTED, cuModuleUnload(module)); // it goes with the library
  CUfunction in_here = nullptr, in_there = nullptr;
  OK(cuKernelGetFunction(&in_here, kernel));
  CHECK(in_here == function(module, "add"));
  CUcontext own = nullptr;
  OK(cuCtxCreate_v4(&own, nullptr, 0, 0));
  OK(cuKernelGetFunction(&in_there, kernel));
  CHECK(in_there != in_here);
  OK(cuLibraryGetGlobal(&other_counter, &bytes, library, "counter"));
  EQUAL(7, read_ints(other_counter, 1)[0]);
  OK(cuCtxDestroy_v2(own));
  EQUAL(70, read_ints(counter, 1)[0]);

  // A CUkernel in the place of a CUfunction.
  const CUdeviceptr x = allocate_ints(32);
  OK(cuMemsetD32_v2(x, 1, 32));
  OK(launch(reinterpret_cast<CUfunction>(kernel), 1, 32, nullptr, x, 4, 32));
  EQUAL(5, read_ints(x, 32)[31]);
  int value = 0;
  OK(cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, 0));
  EQUAL(1024, value);
  OK(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000, kernel, 0));
  OK(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, in_here));
  EQUAL(100000, value);
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel, 5));
  OK(cuKernelSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_SHARED, 0));
  size_t offset = 0;
  OK(cuKernelGetParamInfo(kernel, 1, &offset, &bytes));
  EQUAL(size_t{8}, offset);

  OK(cuLibraryUnload(library));
  if (!on_gpu()) { // where these crash
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuKernelGetFunction(&in_here, kernel));
    FAILS(CUDA_ERROR_INVALID_HANDLE, launch(reinterpret_cast<CUfunction>(kernel), 1, 32, nullptr, x, 4, 32));
  }
  OK(cuLibraryUnload(from_file));
  return result();
}
