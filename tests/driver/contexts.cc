// Contexts of one's own: a stack in each thread, and handles that stay wrong once they are.
#include "check.h"

int main() {
  OK(cuInit(0));
  CUcontext a = nullptr, b = nullptr, c = nullptr, popped = nullptr, current = nullptr;
  OK(cuCtxCreate_v4(&a, nullptr, CU_CTX_SCHED_SPIN, 0));
  OK(cuCtxCreate_v2(&b, 0, 0));
  OK(cuCtxCreate_v3(&c, nullptr, 0, 0, 0));
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v4(&c, nullptr, 0, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v4(nullptr, nullptr, 0, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v4(&popped, nullptr, 1u << 20, 0));
  OK(cuCtxGetCurrent(&current));
  CHECK(current == c);
  OK(cuCtxPopCurrent_v2(&popped));
  CHECK(popped == c);
  OK(cuCtxPopCurrent(&popped));
  CHECK(popped == b);
  OK(cuCtxGetCurrent(&current));
  CHECK(current == a);
  OK(cuCtxPushCurrent_v2(c));
  OK(cuCtxPushCurrent(b));
  OK(cuCtxSetCurrent(a)); // in the place of b
  OK(cuCtxPopCurrent_v2(nullptr));
  OK(cuCtxGetCurrent(&current));
  CHECK(current == c);

  unsigned long long id_a = 0, id_c = 0;
  OK(cuCtxGetId(nullptr, &id_c));
  OK(cuCtxGetId(a, &id_a));
  CHECK(id_a != id_c);
  CUdevice device = -1;
  OK(cuCtxGetDevice(&device));
  EQUAL(0, device);
  device = -1;
  OK(cuCtxGetDevice_v2(&device, a));
  EQUAL(0, device);
  unsigned version = 0, flags = 0;
  OK(cuCtxGetApiVersion(a, &version));
  CHECK(version >= 3020);
  OK(cuCtxSetCurrent(a));
  OK(cuCtxGetFlags(&flags));
  EQUAL(unsigned{CU_CTX_SCHED_SPIN}, flags);
  OK(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
  OK(cuCtxGetFlags(&flags));
  EQUAL(unsigned{CU_CTX_SCHED_YIELD}, flags);
  OK(cuCtxSynchronize());
  OK(cuCtxSynchronize_v2(c));

  // What belongs to one is of no use in another.
  CUstream stream = nullptr;
  CUevent event = nullptr;
  OK(cuStreamCreate(&stream, 0));
  OK(cuEventCreate(&event, 0));
  const CUdeviceptr memory = allocate_ints(1);
  OK(cuCtxSetCurrent(b));
  FAILS(CUDA_ERROR_INVALID_HANDLE, cuEventRecord(event, nullptr));
  OK(cuEventRecord(event, stream)); // but for the streams: they know theirs
  OK(cuStreamSynchronize(stream));
  write_ints(memory, {5}); // but for memory: one address space
  FAILS(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, cuCtxEnablePeerAccess(a, 0));
  FAILS(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(a));

  OK(cuCtxDestroy_v2(a));
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxDestroy_v2(a));
  OK(cuCtxPushCurrent_v2(a)); // it can be current, and nothing can be done in it
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemFree_v2(memory));
  FAILS(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuEventQuery(event));
  OK(cuCtxPopCurrent_v2(nullptr));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxPushCurrent_v2(nullptr));
  int nobody = 0;
  if (!on_gpu()) // where it is taken for one that is destroyed
    FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(reinterpret_cast<CUcontext>(&nobody)));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuCtxDestroy_v2(nullptr));
  OK(cuCtxDestroy(b)); // current: it is popped
  OK(cuCtxDestroy_v2(c));
  while (cuCtxPopCurrent_v2(&popped) == CUDA_SUCCESS)
    ;
  FAILS(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2(&popped));
  OK(cuCtxGetCurrent(&current));
  CHECK(current == nullptr);
  OK(cuCtxSetCurrent(nullptr));
  return result();
}
