// Arguments by pointers and as a buffer, of every alignment; a launch with attributes or without.
#include "check.h"

#include <cstddef>

namespace {

struct Big {
  char tag;
  double factor;
  int values[3];
};
// The kernel's parameters, one behind the other.
struct Buffer {
  char a;
  short b;
  int64_t c;
  double d;
  Big big;
  CUdeviceptr out;
};

const std::vector<int> kWanted = {-3, 400, 5000, 6, 'x', 7, 9};

} // namespace

int main() {
  begin();
  const CUmodule module = load_kernels();
  const CUfunction mixed = function(module, "mixed");
  CUdeviceptr out = allocate_ints(7);
  char a = -3;
  short b = 400;
  int64_t c = 5000;
  double d = 6.5;
  Big big = {'x', 7.5, {1, 2, 9}};
  void* pointers[] = {&a, &b, &c, &d, &big, &out};
  OK(cuLaunchKernel(mixed, 1, 1, 1, 1, 1, 1, 0, nullptr, pointers, nullptr));
  CHECK(read_ints(out, 7) == kWanted);

  OK(cuMemsetD8_v2(out, 0, 28));
  Buffer buffer = {a, b, c, d, big, out};
  size_t bytes = sizeof buffer;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes,
                   CU_LAUNCH_PARAM_END};
  OK(cuLaunchKernel(mixed, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  CHECK(read_ints(out, 7) == kWanted);
  for (size_t i = 0; i < 6; ++i) {
    static const size_t kOffsets[] = {offsetof(Buffer, a), offsetof(Buffer, b),   offsetof(Buffer, c),
                                      offsetof(Buffer, d), offsetof(Buffer, big), offsetof(Buffer, out)};
    size_t offset = 0, size = 0;
    OK(cuFuncGetParamInfo(mixed, i, &offset, &size));
    EQUAL(kOffsets[i], offset);
  }
  size_t offset = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo(mixed, 6, &offset, nullptr));

  OK(cuMemsetD8_v2(out, 0, 28));
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  OK(cuLaunchKernelEx(&config, mixed, pointers, nullptr)); // no attributes at all
  CHECK(read_ints(out, 7) == kWanted);
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[0].value.priority = -1;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attributes[1].value.programmaticStreamSerializationAllowed = 1;
  config.attrs = attributes;
  config.numAttrs = 2;
  OK(cuMemsetD8_v2(out, 0, 28));
  OK(cuLaunchKernelEx(&config, mixed, nullptr, extra));
  CHECK(read_ints(out, 7) == kWanted);
  attributes[0].id = static_cast<CUlaunchAttributeID>(99);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(&config, mixed, pointers, nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx(nullptr, mixed, pointers, nullptr));

  // What is too little, or both.
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(mixed, 1, 1, 1, 1, 1, 1, 0, nullptr, pointers, extra));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel(mixed, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  bytes = sizeof buffer + 8;
  FAILS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
        cuLaunchKernel(mixed, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, extra));
  OK(cuLaunchKernel(function(module, "nothing"), 3, 2, 1, 4, 2, 2, 0, nullptr, nullptr, nullptr));
  OK(cuCtxSynchronize());
  return result();
}
