// Before cuInit nothing works but what says so; versions, and the names of errors. A context is there soon
#include "check.h"

int main() {
  int count = -1;
  CUcontext context = nullptr;
  FAILS(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount(&count));
  FAILS(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent(&context));
  FAILS(CUDA_ERROR_NOT_INITIALIZED, cuCtxSynchronize());
  int version = 0;
  OK(cuDriverGetVersion(&version));
  EQUAL(13000, version);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDriverGetVersion(nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuInit(1));
  OK(cuInit(0));
  OK(cuInit(0));
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());

  const char* text = nullptr;
  OK(cuGetErrorName(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  CHECK(std::string(text) == "CUDA_ERROR_ILLEGAL_ADDRESS");
  OK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
  CHECK(std::string(text) == "an illegal memory access was encountered");
  OK(cuGetErrorName(CUDA_SUCCESS, &text));
  CHECK(std::string(text) == "CUDA_SUCCESS");
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(12345), &text));
  CHECK(text == nullptr);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString(static_cast<CUresult>(12345), &text));
  if (!on_gpu())
    FAILS(CUDA_ERROR_INVALID_VALUE, cuGetErrorString(CUDA_SUCCESS, nullptr));

  CUmoduleLoadingMode mode{};
  OK(cuModuleGetLoadingMode(&mode));
  EQUAL(CU_MODULE_LAZY_LOADING, mode);

  OK(cuDevicePrimaryCtxRetain(&context, 0));
  OK(cuCtxSetCurrent(context));
  CHECK(allocate_ints(1) != 0);
  return result();
}
