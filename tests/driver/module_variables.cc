// Variables of a module: found, read and set by the host, kept from launch to launch.
#include "check.h"

int main() {
  begin();
  const CUmodule module = load_kernels();
  CUdeviceptr counter = 0, table = 0;
  size_t bytes = 0;
  OK(cuModuleGetGlobal_v2(&counter, &bytes, module, "counter"));
  EQUAL(size_t{4}, bytes);
  EQUAL(7, read_ints(counter, 1)[0]);
  OK(cuModuleGetGlobal_v2(&table, &bytes, module, "table"));
  EQUAL(size_t{16}, bytes);
  OK(cuModuleGetGlobal_v2(nullptr, &bytes, module, "counter"));
  OK(cuModuleGetGlobal_v2(&counter, nullptr, module, "counter"));
  CUdeviceptr none = 1;
  FAILS(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal_v2(&none, &bytes, module, "no_such_variable"));
  EQUAL(0ull, none);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuModuleGetGlobal_v2(nullptr, nullptr, module, "counter"));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuModuleGetGlobal_v2(&none, &bytes, nullptr, "counter"));

  const CUfunction variables = function(module, "variables");
  const CUdeviceptr out = allocate_ints(3);
  OK(launch(variables, 1, 1, nullptr, out));
  OK(launch(variables, 1, 1, nullptr, out));
  CHECK(read_ints(out, 3) == std::vector<int>{8, 4, 6});
  write_ints(counter, {100});
  write_ints(table, {1, 2, 3, 50}); // .const, for kernels alone
  OK(launch(variables, 1, 1, nullptr, out));
  CHECK(read_ints(out, 3) == std::vector<int>{100, 50, 7});
  EQUAL(101, read_ints(counter, 1)[0]);
  // A managed one is the host's, too.
  CUdeviceptr managed = 0;
  OK(cuModuleGetGlobal_v2(&managed, &bytes, module, "managed"));
  EQUAL(8, *reinterpret_cast<int*>(managed));
  *reinterpret_cast<int*>(managed) = 60;
  OK(launch(variables, 1, 1, nullptr, out));
  EQUAL(60, read_ints(out, 3)[2]);
  // Another module has its own.
  CUdeviceptr other = 0;
  OK(cuModuleGetGlobal_v2(&other, &bytes, load_kernels(), "counter"));
  EQUAL(7, read_ints(other, 1)[0]);
  return result();
}
