// What is known of a kernel.
#include "check.h"

namespace {

int attribute(CUfunction kernel, CUfunction_attribute which) {
  int value = -1;
  OK(cuFuncGetAttribute(&value, which, kernel));
  return value;
}

} // namespace

int main() {
  begin();
  const CUmodule module = load_kernels();
  const CUfunction shared = function(module, "statically_shared"), bounded = function(module, "bounded"),
                   declared = function(module, "declared_cluster");
  EQUAL(1024, attribute(shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  EQUAL(0, attribute(bounded, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  EQUAL(128, attribute(bounded, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  EQUAL(1024, attribute(shared, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  EQUAL(90, attribute(shared, CU_FUNC_ATTRIBUTE_PTX_VERSION));
  EQUAL(90, attribute(shared, CU_FUNC_ATTRIBUTE_BINARY_VERSION));
  EQUAL(16, attribute(shared, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  EQUAL(0, attribute(shared, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  CHECK(attribute(shared, CU_FUNC_ATTRIBUTE_NUM_REGS) > 0);
  EQUAL(48 * 1024 - 1024, attribute(shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES));
  EQUAL(1, attribute(declared, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET));
  EQUAL(2, attribute(declared, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH));
  EQUAL(0, attribute(shared, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH));
  EQUAL(-1, attribute(shared, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT));
  OK(cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
  EQUAL(50, attribute(shared, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT));
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute(shared, CU_FUNC_ATTRIBUTE_NUM_REGS, 5));
  int value = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX, shared));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute(nullptr, CU_FUNC_ATTRIBUTE_NUM_REGS, shared));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_NUM_REGS, nullptr));

  const char* name = nullptr;
  OK(cuFuncGetName(&name, bounded));
  CHECK(std::string(name) == "bounded");
  CUmodule its = nullptr;
  OK(cuFuncGetModule(&its, bounded));
  CHECK(its == module);
  OK(cuFuncSetCacheConfig(bounded, CU_FUNC_CACHE_PREFER_L1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncSetCacheConfig(bounded, static_cast<CUfunc_cache>(50)));
  OK(cuFuncSetSharedMemConfig(bounded, CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE));
  OK(cuFuncLoad(bounded));
  CUfunctionLoadingState loaded{};
  OK(cuFuncIsLoaded(&loaded, bounded));
  EQUAL(CU_FUNCTION_LOADING_STATE_LOADED, loaded);
  return result();
}
