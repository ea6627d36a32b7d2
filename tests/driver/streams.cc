// Streams: what they are made with, order, and handles that are none.
#include "check.h"

int main() {
  const CUcontext context = begin();
  const CUfunction add = function(load_kernels(), "add");
  CUstream plain = nullptr, urgent = nullptr;
  OK(cuStreamCreate(&plain, CU_STREAM_DEFAULT));
  OK(cuStreamCreateWithPriority(&urgent, CU_STREAM_NON_BLOCKING, -100));
  unsigned flags = 9;
  OK(cuStreamGetFlags(urgent, &flags));
  EQUAL(unsigned{CU_STREAM_NON_BLOCKING}, flags);
  OK(cuStreamGetFlags(nullptr, &flags));
  EQUAL(0u, flags);
  int priority = 9;
  OK(cuStreamGetPriority(urgent, &priority));
  EQUAL(-5, priority); // as urgent as there is
  unsigned long long id = 0, other_id = 0;
  OK(cuStreamGetId(plain, &id));
  OK(cuStreamGetId(urgent, &other_id));
  CHECK(id != other_id);
  CUcontext its = nullptr;
  OK(cuStreamGetCtx(plain, &its));
  CHECK(its == context);
  CUgreenCtx green = nullptr;
  OK(cuStreamGetCtx_v2(plain, &its, &green));
  CUdevice device = -1;
  OK(cuStreamGetDevice(plain, &device));
  EQUAL(0, device);

  const CUdeviceptr x = allocate_ints(32);
  OK(cuMemsetD32Async(x, 0, 32, plain));
  for (int i = 1; i <= 10; ++i)
    OK(launch(add, 1, 32, plain, x, i, 32));
  OK(cuStreamSynchronize(plain));
  OK(cuStreamQuery(plain));
  EQUAL(55, read_ints(x, 32)[31]);
  // The default streams are numbers.
  OK(launch(add, 1, 32, CU_STREAM_LEGACY, x, 1, 32));
  OK(launch(add, 1, 32, CU_STREAM_PER_THREAD, x, 1, 32));
  OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  OK(cuStreamSynchronize(CU_STREAM_LEGACY));
  EQUAL(57, read_ints(x, 32)[31]);

  CUstreamAttrValue value{};
  value.syncPolicy = CU_SYNC_POLICY_YIELD;
  OK(cuStreamSetAttribute(plain, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  OK(cuStreamCopyAttributes(urgent, plain));
  value.syncPolicy = CU_SYNC_POLICY_AUTO;
  OK(cuStreamGetAttribute(urgent, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  EQUAL(CU_SYNC_POLICY_YIELD, value.syncPolicy);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute(plain, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  value.syncPolicy = static_cast<CUsynchronizationPolicy>(77);
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuStreamSetAttribute(plain, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  if (!on_gpu())
    FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamGetAttribute(plain, CU_LAUNCH_ATTRIBUTE_PRIORITY, nullptr));

  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(&plain, 64));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamCreate(nullptr, 0));
  OK(cuStreamDestroy_v2(urgent));
  if (!on_gpu()) { // where these crash
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(urgent));
    FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamSynchronize(urgent));
  }
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2(nullptr));
  OK(cuStreamDestroy(plain));
  return result();
}
