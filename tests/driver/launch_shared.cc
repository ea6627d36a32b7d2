// Dynamic shared memory: 48 KiB unasked, more by an attribute.
#include "check.h"

int main() {
  begin();
  const CUfunction reverse = function(load_kernels(), "reverse");
  CUdeviceptr x = allocate_ints(1024);
  void* arguments[] = {&x};
  std::vector<int> values(1024);
  for (int i = 0; i < 1024; ++i)
    values[i] = i;
  write_ints(x, values);
  OK(cuLaunchKernel(reverse, 1, 1, 1, 1024, 1, 1, 4096, nullptr, arguments, nullptr));
  EQUAL(1023, read_ints(x, 1)[0]);
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuLaunchKernel(reverse, 1, 1, 1, 1024, 1, 1, 100000, nullptr, arguments, nullptr));
  OK(cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232448));
  OK(cuLaunchKernel(reverse, 1, 1, 1, 1024, 1, 1, 232448, nullptr, arguments, nullptr));
  EQUAL(0, read_ints(x, 1)[0]);
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuFuncSetAttribute(reverse, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 232449));
  return result();
}
