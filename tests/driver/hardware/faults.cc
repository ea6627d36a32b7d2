// What a context says once a kernel has done something wrong: a process for every kind of fault.
#include "record.h"

namespace record {
namespace {

CUresult start(CUfunction kernel, CUdeviceptr x, unsigned threads = 32) {
  void* arguments[] = {&x};
  return cuLaunchKernel(kernel, 1, 1, 1, threads, 1, 1, 1024, nullptr, arguments, nullptr);
}

// The error, whether it stays, and whether a reset of the primary context takes it away.
void one(const char* name) {
  begin();
  const CUfunction kernel = function(faulty(), name);
  const CUdeviceptr x = device_bytes(65536);
  CUdeviceptr y = 0;
  SAY(start(kernel, x));
  SAY(cuCtxSynchronize());
  SAY(cuCtxSynchronize());
  SAY(cuMemAlloc_v2(&y, 64));
}

// What every function says then.
void all_functions(const char* kernel_name) {
  CUcontext context = begin(), other = nullptr, current = nullptr;
  const CUmodule module = faulty();
  const CUfunction kernel = function(module, kernel_name), nothing = function(module, "nothing");
  const CUdeviceptr x = device_bytes(65536);
  CUdeviceptr y = 0;
  CUstream stream = nullptr, made_stream = nullptr;
  CUevent event = nullptr, made_event = nullptr;
  cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
  cuEventCreate(&event, 0);
  cuEventRecord(event, stream);
  cuStreamSynchronize(stream);
  void* pinned = nullptr;
  cuMemHostAlloc(&pinned, 64, 0);
  SAY(start(kernel, x));
  SAY(cuCtxSynchronize());
  SAY(cuStreamSynchronize(stream));
  SAY(cuCtxSynchronize());
  SAY(cuStreamQuery(stream));
  SAY(cuStreamQuery(nullptr));
  SAY(cuStreamSynchronize(nullptr));
  SAY(cuEventQuery(event));
  SAY(cuEventSynchronize(event));
  SAY(cuEventRecord(event, stream));
  SAY(cuStreamWaitEvent(stream, event, 0));
  SAY(cuEventCreate(&made_event, 0));
  SAY(cuStreamCreate(&made_stream, 0));
  SAY(cuMemAlloc_v2(&y, 64));
  SAY(cuMemAllocAsync(&y, 64, stream));
  SAY(cuMemAllocManaged(&y, 64, CU_MEM_ATTACH_GLOBAL));
  void* host = nullptr;
  SAY(cuMemHostAlloc(&host, 64, 0));
  SAY(cuMemFreeHost(pinned));
  size_t bytes = 0, total = 0;
  SAY(cuMemGetInfo_v2(&bytes, &total));
  int value = 0;
  SAY(cuMemcpyDtoH_v2(&value, x, 4));
  SAY(cuMemcpyHtoD_v2(x, &value, 4));
  SAY(cuMemsetD8_v2(x, 0, 4));
  SAY(cuMemsetD8Async(x, 0, 4, stream));
  SAY(start(nothing, x));
  SAY(start(nothing, x, 5000));
  SAY(start(nullptr, x));
  CUfunction found = nullptr;
  CUmodule loaded = nullptr;
  SAY(cuModuleGetFunction(&found, module, "traps"));
  SAY(cuModuleGetGlobal_v2(&y, &bytes, module, "fixed"));
  SAY(cuModuleLoadData(&loaded,
                       ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"));
  SAY(cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, nothing));
  SAY(cuFuncSetAttribute(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1000));
  SAY(cuOccupancyMaxActiveBlocksPerMultiprocessor(&value, nothing, 32, 0));
  SAY(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, x));
  SAY(cuMemGetAddressRange_v2(&y, &bytes, x));
  SAY(cuCtxGetLimit(&bytes, CU_LIMIT_STACK_SIZE));
  SAY(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 2048));
  CUdevice device = 0;
  SAY(cuCtxGetDevice(&device));
  SAY(cuCtxGetCurrent(&current));
  SAY(cuCtxSetCurrent(context));
  SAY(cuCtxPushCurrent_v2(context));
  SAY(cuCtxPopCurrent_v2(&current));
  unsigned version = 0, flags = 0;
  SAY(cuCtxGetApiVersion(context, &version));
  SAY(cuCtxGetFlags(&flags));
  SAY(cuCtxGetStreamPriorityRange(nullptr, nullptr));
  SAY(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  SAY(cuDeviceGetCount(&value));
  CUmemoryPool pool = nullptr;
  SAY(cuDeviceGetDefaultMemPool(&pool, 0));
  CUgraph graph = nullptr;
  SAY(cuGraphCreate(&graph, 0));
  SAY(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUlibrary library = nullptr;
  SAY(cuLibraryLoadData(&library,
                        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n",
                        nullptr, nullptr, 0, nullptr, nullptr, 0));
  SAY(cuEventDestroy_v2(event));
  SAY(cuStreamDestroy_v2(stream));
  SAY(cuMemFree_v2(x));
  SAY(cuModuleUnload(module));
  SAY(cuCtxSynchronize());
  int active = 0;
  SAY(cuDevicePrimaryCtxGetState(0, &flags, &active));
  SAY(cuDevicePrimaryCtxRetain(&current, 0));
  SAY(cuCtxCreate_v4(&other, nullptr, 0, 0));
  SAY(cuCtxSynchronize());
  SAY(cuMemAlloc_v2(&y, 64));
  SAY(cuDevicePrimaryCtxReset_v2(0));
}

void reset_after(const char* kernel_name) {
  CUcontext context = begin(), again = nullptr;
  const CUfunction kernel = function(faulty(), kernel_name);
  const CUdeviceptr x = device_bytes(65536);
  CUdeviceptr y = 0;
  SAY(start(kernel, x));
  SAY(cuCtxSynchronize());
  SAY(cuDevicePrimaryCtxReset_v2(0));
  SAY(cuCtxSynchronize());
  SAY(cuDevicePrimaryCtxRetain(&again, 0));
  NOTE(again == context);
  SAY(cuCtxSetCurrent(again));
  SAY(cuCtxSynchronize());
  SAY(cuMemAlloc_v2(&y, 65536));
  SAY(cuMemsetD8_v2(y, 0, 64));
  CUmodule loaded = nullptr;
  SAY(cuModuleLoadData(&loaded, file("faults.ptx").c_str()));
  SAY(cuCtxSynchronize());
}

void release_after() {
  begin();
  const CUfunction kernel = function(faulty(), "traps");
  const CUdeviceptr x = device_bytes(65536);
  CUdeviceptr y = 0;
  CUcontext again = nullptr;
  SAY(start(kernel, x));
  SAY(cuCtxSynchronize());
  SAY(cuDevicePrimaryCtxRelease_v2(0));
  SAY(cuDevicePrimaryCtxRetain(&again, 0));
  SAY(cuCtxSetCurrent(again));
  SAY(cuMemAlloc_v2(&y, 64));
  SAY(cuCtxSynchronize());
}

void own_context() {
  CUcontext primary = begin(), own = nullptr;
  CUdeviceptr y = 0;
  SAY(cuCtxCreate_v4(&own, nullptr, 0, 0));
  const CUfunction kernel = function(faulty(), "null_write");
  const CUdeviceptr x = device_bytes(65536);
  SAY(start(kernel, x));
  SAY(cuCtxSynchronize());
  SAY(cuCtxSetCurrent(primary));
  SAY(cuCtxSynchronize());
  SAY(cuMemAlloc_v2(&y, 64));
  SAY(cuCtxDestroy_v2(own));
  SAY(cuMemAlloc_v2(&y, 64));
  SAY(cuCtxCreate_v4(&own, nullptr, 0, 0));
  SAY(cuMemAlloc_v2(&y, 64));
  SAY(cuCtxSynchronize());
}

// An address that was memory once; and memory that may only be read.
void freed() {
  begin();
  const CUfunction kernel = function(faulty(), "here_write");
  const CUdeviceptr x = device_bytes(size_t{64} << 20);
  SAY(cuMemFree_v2(x));
  SAY(start(kernel, x));
  SAY(cuCtxSynchronize());
}

void read_only() {
  begin();
  const CUmodule module = faulty();
  const CUfunction reads = function(module, "here_read"), writes = function(module, "here_write");
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  const size_t page = size_t{2} << 20;
  CUdeviceptr address = 0;
  CUmemGenericAllocationHandle handle = 0;
  SAY(cuMemAddressReserve(&address, 2 * page, 0, 0, 0));
  SAY(cuMemCreate(&handle, page, &properties, 0));
  SAY(cuMemMap(address, page, 0, handle, 0));
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  SAY(cuMemSetAccess(address, page, &access, 1));
  SAY(start(reads, address));
  SAY(cuCtxSynchronize());
  SAY(cuMemsetD8_v2(address, 0, 4));
  SAY(cuCtxSynchronize());
  SAY(start(writes, address));
  SAY(cuCtxSynchronize());
}

void host_pointer() {
  begin();
  static int own = 0;
  const CUfunction kernel = function(faulty(), "here_write");
  SAY(start(kernel, reinterpret_cast<CUdeviceptr>(&own)));
  SAY(cuCtxSynchronize());
}

void jumps(CUdeviceptr to) {
  begin();
  const CUfunction kernel = function(faulty(), "jumps_nowhere");
  SAY(start(kernel, to));
  SAY(cuCtxSynchronize());
}

// Of ../kernels.ptx, which nvcc made.
void asserts() {
  begin();
  const CUfunction kernel = function(kernels(), "asserts");
  const CUdeviceptr x = device_bytes(4096);
  CUdeviceptr y = 0;
  SAY(cuMemsetD32_v2(x, 1, 1024));
  SAY(launch(kernel, 32, nullptr, x));
  SAY(cuCtxSynchronize());
  SAY(cuCtxSynchronize());
  SAY(cuMemAlloc_v2(&y, 64));
}

} // namespace

std::vector<Section> fault_sections() {
  std::vector<Section> sections = {
      {"all functions after traps", [] { all_functions("traps"); }},
      {"all functions after null_write", [] { all_functions("null_write"); }},
      {"reset after traps", [] { reset_after("traps"); }},
      {"reset after null_write", [] { reset_after("null_write"); }},
      {"release after traps", release_after},
      {"fault in a context of its own", own_context},
      {"fault: freed memory", freed},
      {"fault: read-only memory", read_only},
      {"fault: the host's memory", host_pointer},
      {"fault: jumps nowhere", [] { jumps(0x1230); }},
      {"fault: jumps to an odd address", [] { jumps(0x1238); }},
      {"fault: jumps far away", [] { jumps(0x7000000000); }},
      {"fault: asserts", asserts},
  };
  for (const char* name : {"null_read",
                           "null_write",
                           "far_write",
                           "not_canonical",
                           "null_atomic",
                           "misaligned",
                           "misaligned_vector",
                           "misaligned_atomic",
                           "misaligned_shared",
                           "shared_beyond",
                           "local_beyond",
                           "writes_constant",
                           "traps",
                           "breaks",
                           "stack_too_deep",
                           "barrier_16",
                           "mbarrier_in_global",
                           "mbarrier_misaligned",
                           "mbarrier_of_none",
                           "mbarrier_too_many",
                           "mbarrier_arrives_twice",
                           "generic_of_nobody",
                           "rank_of_nobody",
                           "bulk_of_17",
                           "bulk_misaligned",
                           "bulk_shared_misaligned",
                           "bulk_to_nowhere",
                           "bulk_from_beyond",
                           "tensor_of_zeros",
                           "cp_async_misaligned",
                           "ldmatrix_misaligned"})
    sections.push_back({std::string("fault: ") + name, [name] { one(name); }});
  return sections;
}

} // namespace record
