// Modules from text and from files; their functions.
#include "check.h"

#include <unistd.h>

int main() {
  begin();
  const std::string text = kernels_text();
  CUmodule from_data = nullptr, from_file = nullptr, with_options = nullptr, from_fatbin = nullptr;
  OK(cuModuleLoadData(&from_data, text.c_str()));
  OK(cuModuleLoad(&from_file, KERNELS));
  OK(cuModuleLoadFatBinary(&from_fatbin, text.c_str()));
  char log[256] = "?", info[256] = "?";
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
                            CU_JIT_OPTIMIZATION_LEVEL};
  void* values[] = {log, reinterpret_cast<void*>(sizeof log), info, reinterpret_cast<void*>(sizeof info),
                    reinterpret_cast<void*>(2)};
  OK(cuModuleLoadDataEx(&with_options, text.c_str(), 5, options, values));
  EQUAL(std::string(), log);
  EQUAL(size_t{0}, reinterpret_cast<size_t>(values[1]));
  FAILS(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&from_file, "/no/such/file.ptx"));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(nullptr, text.c_str()));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData(&from_data, nullptr));

  unsigned count = 0;
  OK(cuModuleGetFunctionCount(&count, from_data));
  CHECK(count >= 20);
  std::vector<CUfunction> all(count);
  OK(cuModuleEnumerateFunctions(all.data(), count, from_data));
  bool is_there = false;
  const CUfunction indices = function(from_data, "indices");
  for (const CUfunction each : all)
    is_there |= each == indices;
  CHECK(is_there);
  CHECK(function(from_data, "indices") == indices);
  CHECK(function(from_file, "indices") != indices);
  CUfunction found = nullptr;
  FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&found, from_data, "no_such_kernel"));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(&found, from_data, ""));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction(nullptr, from_data, "indices"));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction(&found, nullptr, "indices"));

  const CUdeviceptr out = allocate_ints(64);
  OK(launch(indices, 2, 32, nullptr, out));
  EQUAL(63, read_ints(out, 64)[63]);
  OK(cuModuleUnload(from_data));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload(from_data));
  FAILS(CUDA_ERROR_INVALID_HANDLE, launch(indices, 2, 32, nullptr, out));
  OK(launch(function(from_file, "indices"), 1, 32, nullptr, out));
  OK(cuCtxSynchronize());
  OK(cuModuleUnload(from_file));
  OK(cuModuleUnload(with_options));
  OK(cuModuleUnload(from_fatbin));
  return result();
}
