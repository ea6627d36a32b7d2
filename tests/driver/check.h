// What a program of this folder is made of: it checks itself, says where it went wrong, and exits with 1
// then.
//
// OK(call) wants CUDA_SUCCESS and FAILS(error, call) that error; CHECK(condition) and EQUAL(wanted, got) what
// they say. All go on, so that one run says all that is wrong. The last statement of main is `return
// result();`.
#pragma once

#ifdef LEMMA_TEST_WITH_TOOLKIT
#include <cuda.h>
#else
#include "driver/api.h"
#endif

#include "expect.h"

#include <dlfcn.h>

inline const char* name_of(CUresult status) {
  const char* name = nullptr;
  cuGetErrorName(status, &name);
  return name ? name : "an unknown error";
}

#define OK(...) expect_status(CUDA_SUCCESS, (__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)
#define FAILS(error, ...) expect_status(error, (__VA_ARGS__), #__VA_ARGS__, __FILE__, __LINE__)

// NVIDIA's driver, on a real GPU. What only Lemma promises - its reports, errors where the other one crashes
// - is not asked of it.
inline bool on_gpu() {
  static const bool is_there = dlsym(RTLD_DEFAULT, "cuLemmaVersion") == nullptr;
  return is_there;
}

// The primary context of device 0, current.
inline CUcontext begin() {
  CUcontext context = nullptr;
  OK(cuInit(0));
  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  return context;
}

// kernels.ptx, which nvcc made of kernels.cu.
inline std::string kernels_text() {
  return text_of_file(KERNELS);
}

inline CUmodule load_kernels() {
  CUmodule module = nullptr;
  OK(cuModuleLoadData(&module, kernels_text().c_str()));
  return module;
}

// textures.ptx, which nvcc made of textures.cu.
inline CUmodule load_textures() {
  CUmodule module = nullptr;
  OK(cuModuleLoadData(&module, text_of_file(FOLDER "textures.ptx").c_str()));
  return module;
}

inline CUfunction function(CUmodule module, const char* name) {
  CUfunction found = nullptr;
  OK(cuModuleGetFunction(&found, module, name));
  return found;
}

// Device memory of so many ints.
inline CUdeviceptr allocate_ints(size_t count) {
  CUdeviceptr address = 0;
  OK(cuMemAlloc_v2(&address, count * sizeof(int)));
  return address;
}

inline std::vector<int> read_ints(CUdeviceptr address, size_t count) {
  std::vector<int> values(count, -1);
  OK(cuMemcpyDtoH_v2(values.data(), address, count * sizeof(int)));
  return values;
}

inline void write_ints(CUdeviceptr address, const std::vector<int>& values) {
  OK(cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(int)));
}

// One block of so many threads, with these arguments.
template <class... Arguments>
CUresult launch(CUfunction function, unsigned blocks, unsigned threads, CUstream stream,
                Arguments... arguments) {
  void* pointers[] = {&arguments..., nullptr};
  return cuLaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, pointers, nullptr);
}
