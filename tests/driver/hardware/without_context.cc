// What a thread without a current context may do with the things of one, given by their handles or addresses.
#include "record.h"

namespace record {
namespace {

void nothing(void*) {}
void nothing_with_status(CUstream, CUresult, void*) {}

void leave() {
  CUcontext current = nullptr;
  cuCtxSetCurrent(nullptr);
  SAY(cuCtxGetCurrent(&current));
  NOTE(current);
}

void streams() {
  const CUcontext context = begin();
  CUstream stream = nullptr;
  CUevent event = nullptr, earlier = nullptr;
  const CUdeviceptr x = device_bytes(4096);
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuEventCreate(&event, 0);
  cuEventCreate(&earlier, 0);
  cuEventRecord(earlier, stream);
  leave();
  unsigned flags = 0, words[16] = {};
  int priority = 9;
  float milliseconds = 0;
  unsigned long long id = 0;
  CUcontext its = nullptr;
  CUdevice device = 9;
  CUstreamCaptureStatus capturing{};
  CUgraph graph = nullptr;
  CUstreamAttrValue value{};
  for (const CUstream each : {stream, CUstream{}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    const Turn turn(each == stream ? "its stream"
                                   : "stream " + std::to_string(reinterpret_cast<size_t>(each)));
    SAY(cuStreamQuery(each));
    SAY(cuStreamSynchronize(each));
    SAY(cuStreamGetFlags(each, &flags));
    SAY(cuStreamGetPriority(each, &priority));
    SAY(cuStreamGetId(each, &id));
    SAY_VALUE(its == context, cuStreamGetCtx(each, &its));
    SAY(cuStreamGetDevice(each, &device));
    SAY(cuStreamGetAttribute(each, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
    SAY(cuStreamIsCapturing(each, &capturing));
    SAY(cuStreamGetCaptureInfo_v3(each, &capturing, nullptr, nullptr, nullptr, nullptr, nullptr));
    SAY(cuEventRecord(event, each));
    SAY(cuEventRecordWithFlags(event, each, 0));
    SAY(cuStreamWaitEvent(each, event, 0));
    SAY(cuLaunchHostFunc(each, nothing, nullptr));
    SAY(cuStreamAddCallback(each, nothing_with_status, nullptr, 0));
    SAY(cuMemsetD8Async(x, 1, 16, each));
    SAY(cuMemsetD32Async(x, 1, 16, each));
    SAY(cuMemsetD2D8Async(x, 64, 1, 16, 2, each));
    SAY(cuMemcpyHtoDAsync_v2(x, words, 64, each));
    SAY(cuMemcpyDtoHAsync_v2(words, x, 64, each));
    SAY(cuMemcpyDtoDAsync_v2(x + 1024, x, 64, each));
    SAY(cuMemcpyAsync(x + 1024, x, 64, each));
    SAY(cuMemPrefetchAsync_v2(x, 64, {CU_MEM_LOCATION_TYPE_DEVICE, 0}, 0, each));
    SAY(cuStreamWriteValue32_v2(each, x, 7, 0));
    SAY(cuStreamWaitValue32_v2(each, x, 7, CU_STREAM_WAIT_VALUE_EQ));
    SAY(cuStreamAttachMemAsync(each, x, 0, CU_MEM_ATTACH_SINGLE));
    SAY(cuStreamBeginCapture_v2(each, CU_STREAM_CAPTURE_MODE_RELAXED));
    SAY(cuStreamEndCapture(each, &graph));
    SAY(cuStreamSynchronize(each));
  }
  SAY(cuEventQuery(event));
  SAY(cuEventSynchronize(event));
  SAY(cuEventElapsedTime_v2(&milliseconds, earlier, event));
  SAY(cuEventDestroy_v2(event));
  SAY(cuStreamCopyAttributes(stream, stream));
  SAY(cuStreamDestroy_v2(stream));
  SAY(cuCtxSynchronize());
}

void memory() {
  begin();
  const CUdeviceptr x = device_bytes(4096);
  CUdeviceptr managed = 0, base = 0;
  void* pinned = nullptr;
  static unsigned pageable[1024];
  cuMemHostAlloc(&pinned, 64, CU_MEMHOSTALLOC_DEVICEMAP);
  cuMemAllocManaged(&managed, 64, CU_MEM_ATTACH_GLOBAL);
  leave();
  unsigned words[16] = {}, flags = 0, type = 0;
  size_t bytes = 0, total = 0;
  void* values[] = {&type};
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE};
  SAY_VALUE(type, cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, x));
  SAY_VALUE(type, cuPointerGetAttributes(1, attributes, values, x));
  SAY_VALUE(type, cuPointerGetAttributes(1, attributes, values, 0x1000));
  SAY_VALUE(type, cuPointerGetAttributes(1, attributes, values, reinterpret_cast<CUdeviceptr>(pinned)));
  SAY(cuPointerSetAttribute(&type, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, x));
  SAY_VALUE(bytes, cuMemGetAddressRange_v2(&base, &bytes, x));
  SAY(cuMemGetInfo_v2(&bytes, &total));
  SAY(cuMemcpyHtoD_v2(x, words, 64));
  SAY(cuMemcpyDtoH_v2(words, x, 64));
  SAY(cuMemcpyDtoD_v2(x + 1024, x, 64));
  SAY(cuMemcpy(x + 1024, x, 64));
  CUDA_MEMCPY2D flat{};
  flat.srcMemoryType = flat.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  flat.srcDevice = x;
  flat.dstDevice = x + 1024;
  flat.WidthInBytes = flat.Height = 4;
  flat.srcPitch = flat.dstPitch = 4;
  SAY(cuMemcpy2D_v2(&flat));
  SAY(cuMemsetD8_v2(x, 1, 16));
  SAY(cuMemsetD32_v2(x, 1, 16));
  SAY(cuMemHostGetDevicePointer_v2(&base, pinned, 0));
  SAY(cuMemHostGetFlags(&flags, pinned));
  SAY(cuMemHostRegister_v2(pageable, sizeof pageable, 0));
  SAY(cuMemHostUnregister(pageable));
  SAY(cuMemAllocHost_v2(&pinned, 64));
  SAY(cuMemAllocPitch_v2(&base, &bytes, 100, 4, 4));
  SAY(cuMemRangeGetAttribute(&type, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, managed, 64));
  SAY(cuMemAdvise_v2(managed, 64, CU_MEM_ADVISE_SET_READ_MOSTLY, {CU_MEM_LOCATION_TYPE_DEVICE, 0}));
  SAY(cuMemFreeHost(pinned));
  SAY(cuMemFree_v2(managed));
  SAY(cuMemFree_v2(x));
}

void pools() {
  begin();
  CUstream stream = nullptr;
  CUmemoryPool pool = nullptr, made = nullptr;
  CUdeviceptr x = 0, y = 0;
  unsigned long long bytes = 0;
  cuStreamCreate(&stream, 0);
  cuDeviceGetDefaultMemPool(&pool, 0);
  cuMemAllocAsync(&x, 64, stream);
  leave();
  SAY(cuDeviceGetDefaultMemPool(&pool, 0));
  SAY(cuDeviceGetMemPool(&pool, 0));
  SAY(cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &bytes));
  SAY(cuMemPoolTrimTo(pool, 0));
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
  SAY(cuMemPoolCreate(&made, &properties));
  SAY(cuMemAllocAsync(&y, 64, nullptr));
  SAY(cuMemAllocAsync(&y, 64, stream));
  SAY(cuMemFreeAsync(y, stream));
  SAY(cuMemAllocFromPoolAsync(&y, 64, pool, stream));
  SAY(cuMemFreeAsync(y, stream));
  SAY(cuMemFreeAsync(x, nullptr));
  SAY(cuMemFreeAsync(x, stream));
  SAY(cuMemPoolDestroy(made));
}

void kernels_and_graphs() {
  begin();
  const CUmodule module = kernels();
  CUfunction kernel = function(module, "indices"), other = nullptr;
  CUdeviceptr x = device_bytes(4096), variable = 0;
  CUstream stream = nullptr;
  CUgraph graph = nullptr, copy = nullptr;
  CUgraphExec exec = nullptr, again = nullptr;
  CUgraphNode node = nullptr;
  cuStreamCreate(&stream, 0);
  cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED);
  launch(kernel, 1, stream, x);
  cuStreamEndCapture(stream, &graph);
  cuGraphInstantiateWithFlags(&exec, graph, 0);
  leave();
  int value = 0;
  unsigned functions = 0;
  size_t count = 0;
  const char* name = nullptr;
  CUmodule its = nullptr;
  SAY(cuModuleGetFunction(&other, module, "add"));
  SAY(cuModuleGetGlobal_v2(&variable, &count, module, "nothing of this name"));
  SAY(cuModuleGetFunctionCount(&functions, module));
  SAY(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel));
  SAY(cuFuncSetAttribute(kernel, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50));
  SAY(cuFuncSetCacheConfig(kernel, CU_FUNC_CACHE_PREFER_L1));
  SAY(cuFuncGetModule(&its, kernel));
  SAY(cuFuncGetName(&name, kernel));
  SAY(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, kernel, 32, 0));
  SAY(launch(kernel, 1, stream, x));
  SAY(launch(kernel, 1, nullptr, x));
  SAY(launch(kernel, 1, CU_STREAM_PER_THREAD, x));
  SAY_VALUE(count, cuGraphGetNodes(graph, nullptr, &count));
  SAY(cuGraphAddEmptyNode(&node, graph, nullptr, 0));
  SAY(cuGraphClone(&copy, graph));
  SAY(cuGraphInstantiateWithFlags(&again, graph, 0));
  SAY(cuGraphUpload(exec, stream));
  SAY(cuGraphLaunch(exec, stream));
  SAY(cuGraphLaunch(exec, nullptr));
  SAY(cuStreamSynchronize(stream));
  SAY(cuGraphExecDestroy(exec));
  SAY(cuGraphDestroy(graph));
  SAY(cuModuleUnload(module));
}

} // namespace

std::vector<Section> without_context_sections() {
  return {{"without a context: streams", streams},
          {"without a context: memory", memory},
          {"without a context: pools", pools},
          {"without a context: kernels and graphs", kernels_and_graphs}};
}

} // namespace record
