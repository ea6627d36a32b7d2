// Limits and configurations that a context keeps.
#include "check.h"

int main() {
  begin();
  size_t value = 0;
  OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EQUAL(size_t{1024}, value);
  OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
  OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EQUAL(size_t{4096}, value);
  OK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
  EQUAL(size_t{8} << 20, value);
  OK(cuCtxSetLimit(CU_LIMIT_PRINTF_FIFO_SIZE, 1 << 20));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(&value, static_cast<CUlimit>(77)));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(static_cast<CUlimit>(77), 1));
  // In steps, and not below what is needed.
  OK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 5000));
  OK(cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  EQUAL(size_t{5008}, value);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size_t{1} << 40));
  OK(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, 5));
  OK(cuCtxGetLimit(&value, CU_LIMIT_MALLOC_HEAP_SIZE));
  EQUAL(size_t{4} << 20, value);
  FAILS(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit(&value, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH));
  FAILS(CUDA_ERROR_NOT_PERMITTED, cuCtxSetLimit(CU_LIMIT_SHMEM_SIZE, 1000));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE));
  CUfunc_cache cache{};
  OK(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  OK(cuCtxGetCacheConfig(&cache));
  EQUAL(CU_FUNC_CACHE_PREFER_L1, cache);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxSetCacheConfig(static_cast<CUfunc_cache>(9)));
  CUsharedconfig shared{};
  OK(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
  OK(cuCtxGetSharedMemConfig(&shared));
  EQUAL(CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE, shared);
  int least = 9, greatest = 9;
  OK(cuCtxGetStreamPriorityRange(&least, &greatest));
  EQUAL(0, least);
  EQUAL(-5, greatest);
  OK(cuCtxGetStreamPriorityRange(nullptr, nullptr));
  OK(cuCtxResetPersistingL2Cache());
  OK(cuProfilerStart()); // of no profiler
  OK(cuProfilerStop());
  return result();
}
