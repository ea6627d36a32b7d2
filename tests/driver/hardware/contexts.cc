// Contexts: limits, flags, the stack of a thread, the primary one; handles of what is gone.
#include "record.h"

namespace record {
namespace {

void limits() {
  begin();
  size_t value = 0;
  for (int limit = 0; limit < 12; ++limit) {
    const Turn turn(std::to_string(limit));
    const CUlimit which = static_cast<CUlimit>(limit);
    SAY_VALUE(value, cuCtxGetLimit(&value, which));
    SAY(cuCtxSetLimit(which, 0));
    SAY_VALUE(value, cuCtxGetLimit(&value, which));
    SAY(cuCtxSetLimit(which, 5000));
    SAY_VALUE(value, cuCtxGetLimit(&value, which));
  }
  SAY(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, size_t{1} << 40));
  SAY_VALUE(value, cuCtxGetLimit(&value, CU_LIMIT_STACK_SIZE));
  SAY(cuCtxGetLimit(nullptr, CU_LIMIT_STACK_SIZE));
  SAY(cuCtxGetLimit(&value, static_cast<CUlimit>(77)));
  SAY(cuCtxSetLimit(static_cast<CUlimit>(77), 1));
  SAY(cuCtxSetLimit(CU_LIMIT_MALLOC_HEAP_SIZE, size_t{1} << 50));
}

void settings() {
  begin();
  CUfunc_cache cache{};
  CUsharedconfig shared{};
  unsigned flags = 99, version = 0;
  int least = 9, greatest = 9;
  SAY_VALUE(cache, cuCtxGetCacheConfig(&cache));
  SAY(cuCtxSetCacheConfig(CU_FUNC_CACHE_PREFER_L1));
  SAY_VALUE(cache, cuCtxGetCacheConfig(&cache));
  SAY(cuCtxSetCacheConfig(static_cast<CUfunc_cache>(9)));
  SAY(cuCtxGetCacheConfig(nullptr));
  SAY_VALUE(shared, cuCtxGetSharedMemConfig(&shared));
  SAY(cuCtxSetSharedMemConfig(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE));
  SAY_VALUE(shared, cuCtxGetSharedMemConfig(&shared));
  SAY(cuCtxSetSharedMemConfig(static_cast<CUsharedconfig>(9)));
  SAY(cuCtxGetSharedMemConfig(nullptr));
  SAY_VALUE(flags, cuCtxGetFlags(&flags));
  SAY(cuCtxGetFlags(nullptr));
  SAY(cuCtxSetFlags(CU_CTX_SCHED_YIELD));
  SAY_VALUE(flags, cuCtxGetFlags(&flags));
  SAY(cuCtxSetFlags(1 << 20));
  SAY_VALUE(version, cuCtxGetApiVersion(nullptr, &version));
  SAY(cuCtxGetApiVersion(nullptr, nullptr));
  SAY_VALUE(least * 100 + greatest, cuCtxGetStreamPriorityRange(&least, &greatest));
  SAY(cuCtxGetStreamPriorityRange(nullptr, nullptr));
  SAY(cuCtxResetPersistingL2Cache());
  CUdevice device = 9;
  SAY_VALUE(device, cuCtxGetDevice(&device));
  SAY(cuCtxGetDevice(nullptr));
  unsigned long long id = 0;
  SAY(cuCtxGetId(nullptr, &id));
  SAY(cuCtxGetId(nullptr, nullptr));
}

void own_contexts() {
  cuInit(0);
  CUcontext a = nullptr, b = nullptr, popped = nullptr, current = nullptr;
  unsigned flags = 0, version = 0;
  SAY(cuCtxPopCurrent_v2(&popped));
  SAY(cuCtxGetCurrent(nullptr));
  SAY(cuCtxSetCurrent(nullptr));
  SAY(cuCtxPushCurrent_v2(nullptr));
  SAY(cuCtxCreate_v4(&a, nullptr, CU_CTX_SCHED_SPIN, 0));
  SAY_VALUE(flags, cuCtxGetFlags(&flags));
  SAY_VALUE(version, cuCtxGetApiVersion(a, &version));
  SAY(cuCtxCreate_v2(&b, 0, 0));
  SAY_VALUE(flags, cuCtxGetFlags(&flags));
  SAY_VALUE(version, cuCtxGetApiVersion(b, &version));
  SAY(cuCtxCreate_v4(&current, nullptr, 0, 1));
  SAY(cuCtxCreate_v4(&current, nullptr, 0, -1));
  SAY(cuCtxCreate_v4(nullptr, nullptr, 0, 0));
  SAY(cuCtxCreate_v4(&current, nullptr, 1u << 20, 0));
  SAY(cuCtxCreate_v4(&current, nullptr, 3, 0));
  SAY(cuCtxPopCurrent_v2(&popped));
  NOTE(popped == b);
  SAY(cuCtxSetCurrent(b));
  SAY(cuCtxGetCurrent(&current));
  NOTE(current == b);
  SAY(cuCtxPopCurrent_v2(nullptr));
  SAY(cuCtxGetCurrent(&current));
  NOTE(current);
  SAY(cuCtxSetCurrent(a));
  CUdevice device = 7;
  SAY_VALUE(device, cuCtxGetDevice_v2(&device, b));
  SAY(cuCtxSynchronize_v2(b));
  SAY(cuCtxEnablePeerAccess(a, 0));
  SAY(cuCtxEnablePeerAccess(b, 0));
  SAY(cuCtxEnablePeerAccess(nullptr, 0));
  SAY(cuCtxEnablePeerAccess(b, 1));
  SAY(cuCtxDisablePeerAccess(b));
  SAY(cuCtxDisablePeerAccess(nullptr));
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuEventCreate(&event, 0));
  SAY(cuMemAlloc_v2(&memory, 64));
  module = kernels();
  kernel = function(module, "indices");
  // What belongs to one, in another.
  SAY(cuCtxSetCurrent(b));
  SAY(cuStreamSynchronize(stream));
  SAY(cuStreamQuery(stream));
  SAY(cuEventRecord(event, nullptr));
  SAY(cuEventRecord(event, stream));
  SAY(cuEventQuery(event));
  SAY(cuStreamWaitEvent(nullptr, event, 0));
  SAY(cuStreamWaitEvent(stream, event, 0));
  SAY(cuMemsetD8_v2(memory, 0, 64));
  SAY(launch(kernel, 1, nullptr, memory));
  SAY(launch(kernel, 1, stream, memory));
  SAY(cuFuncSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1));
  SAY(cuModuleGetFunction(&kernel, module, "add"));
  SAY(cuMemFree_v2(memory));
  SAY(cuModuleUnload(module));
  SAY(cuStreamDestroy_v2(stream));
  SAY(cuEventDestroy_v2(event));
  SAY(cuCtxDestroy_v2(b));
  SAY(cuCtxGetCurrent(&current));
  NOTE(current);
  SAY(cuCtxSynchronize());
  SAY(cuCtxDestroy_v2(nullptr));
  SAY(cuCtxDestroy_v2(a));
}

void destroyed_contexts() {
  cuInit(0);
  CUcontext a = nullptr, current = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CUdeviceptr memory = 0;
  unsigned version = 0;
  SAY(cuCtxCreate_v4(&a, nullptr, 0, 0));
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuEventCreate(&event, 0));
  SAY(cuMemAlloc_v2(&memory, 64));
  begin();
  SAY(cuCtxDestroy_v2(a));
  SAY(cuCtxGetApiVersion(a, &version));
  SAY(cuCtxSynchronize_v2(a));
  SAY(cuMemFree_v2(memory));
  SAY(cuEventQuery(event));
  SAY(cuStreamQuery(stream));
  SAY(cuCtxSetCurrent(a));
  SAY(cuCtxGetCurrent(&current));
  NOTE(current == a);
  SAY(cuCtxSynchronize());
  SAY(cuMemAlloc_v2(&memory, 64));
  SAY(cuCtxPopCurrent_v2(&current));
  SAY(cuCtxPushCurrent_v2(a));
  SAY(cuCtxSynchronize());
}

void no_contexts() {
  cuInit(0);
  unsigned version = 0;
  unsigned long long id = 0;
  SAY(cuCtxGetApiVersion(nullptr, &version));
  SAY(cuCtxGetId(nullptr, &id));
  CUdevice device = 0;
  size_t bytes = 0, total = 0;
  unsigned flags = 0;
  CUdeviceptr address = 0;
  CUmodule module = nullptr;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  void* host = nullptr;
  SAY(cuCtxGetDevice(&device));
  SAY(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
  SAY(cuCtxGetFlags(&flags));
  SAY(cuCtxGetStreamPriorityRange(nullptr, nullptr));
  SAY(cuMemGetInfo_v2(&bytes, &total));
  SAY(cuMemAlloc_v2(&address, 16));
  SAY(cuMemAlloc_v2(nullptr, 16));
  SAY(cuMemFree_v2(0));
  SAY(cuMemFree_v2(0x1000));
  SAY(cuMemHostAlloc(&host, 16, 0));
  SAY(cuMemAllocManaged(&address, 16, CU_MEM_ATTACH_GLOBAL));
  SAY(cuModuleLoadData(&module, ""));
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuEventCreate(&event, 0));
  SAY(cuMemsetD8_v2(0, 0, 0));
  SAY(cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  SAY(cuPointerGetAttribute(&flags, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0x1000));
}

void primary_context() {
  cuInit(0);
  unsigned flags = 99;
  int active = 99;
  CUcontext context = nullptr, again = nullptr;
  SAY_VALUE(active, cuDevicePrimaryCtxGetState(0, &flags, &active));
  NOTE(flags);
  SAY(cuDevicePrimaryCtxGetState(0, nullptr, &active));
  SAY(cuDevicePrimaryCtxGetState(1, &flags, &active));
  SAY(cuDevicePrimaryCtxRelease_v2(0));
  SAY(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
  SAY(cuDevicePrimaryCtxSetFlags_v2(0, 3));
  SAY(cuDevicePrimaryCtxSetFlags_v2(0, 1 << 20));
  SAY(cuDevicePrimaryCtxReset_v2(0));
  SAY_VALUE(flags, cuDevicePrimaryCtxGetState(0, &flags, &active));
  SAY(cuDevicePrimaryCtxRetain(nullptr, 0));
  SAY(cuDevicePrimaryCtxRetain(&context, 1));
  SAY(cuDevicePrimaryCtxRetain(&context, 0));
  SAY(cuDevicePrimaryCtxRetain(&again, 0));
  NOTE(context == again);
  SAY_VALUE(flags, cuDevicePrimaryCtxGetState(0, &flags, &active));
  NOTE(active);
  SAY(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_SPIN));
  SAY_VALUE(flags, cuDevicePrimaryCtxGetState(0, &flags, &active));
  SAY(cuCtxDestroy_v2(context));
  SAY(cuCtxSetCurrent(context));
  CUdeviceptr memory = 0;
  SAY(cuMemAlloc_v2(&memory, 64));
  SAY(cuDevicePrimaryCtxRelease_v2(0));
  SAY(cuMemsetD8_v2(memory, 0, 64));
  SAY(cuDevicePrimaryCtxRelease_v2(0));
  SAY_VALUE(active, cuDevicePrimaryCtxGetState(0, &flags, &active));
  CUcontext current = nullptr;
  SAY(cuCtxGetCurrent(&current));
  NOTE(current == context);
  SAY(cuMemsetD8_v2(memory, 0, 64));
  SAY(cuMemAlloc_v2(&memory, 64));
  SAY(cuCtxSynchronize());
  SAY(cuCtxSetCurrent(context));
  SAY(cuDevicePrimaryCtxRelease_v2(0));
  SAY(cuDevicePrimaryCtxRetain(&again, 0));
  NOTE(context == again);
  SAY(cuCtxSynchronize());
  SAY(cuCtxSetCurrent(again));
  SAY(cuMemFree_v2(memory));
  SAY(cuMemAlloc_v2(&memory, 64));
  SAY(cuDevicePrimaryCtxReset_v2(0));
  SAY_VALUE(active, cuDevicePrimaryCtxGetState(0, &flags, &active));
  SAY(cuCtxGetCurrent(&current));
  NOTE(current == again);
  SAY(cuCtxSynchronize());
  SAY(cuDevicePrimaryCtxRelease_v2(0));
  SAY(cuDevicePrimaryCtxSetFlags_v2(0, CU_CTX_SCHED_YIELD));
  SAY(cuDevicePrimaryCtxRetain(&context, 0));
  NOTE(context == again);
  SAY_VALUE(flags, cuDevicePrimaryCtxGetState(0, &flags, &active));
  SAY(cuCtxSetCurrent(context));
  SAY(cuMemFree_v2(memory));
  SAY(cuCtxSynchronize());
}

} // namespace

std::vector<Section> context_sections() {
  return {{"limits", limits},
          {"context settings", settings},
          {"own contexts", own_contexts},
          {"destroyed contexts", destroyed_contexts},
          {"no context", no_contexts},
          {"primary context", primary_context}};
}

} // namespace record
