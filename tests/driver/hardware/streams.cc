// Streams and events; operations of streams on memory; host functions.
#include "record.h"

namespace record {
namespace {

void streams() {
  CUcontext context = begin();
  CUstream stream = nullptr, other = nullptr;
  unsigned flags = 9;
  int priority = 9;
  unsigned long long id = 0, other_id = 0;
  CUcontext its = nullptr;
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuStreamCreate(&other, 64));
  SAY(cuStreamCreate(nullptr, 0));
  SAY(cuStreamCreateWithPriority(nullptr, 0, 0));
  SAY(cuStreamCreateWithPriority(&other, 64, 0));
  for (const int wanted : {-100, -6, -5, -1, 0, 1, 100}) {
    const Turn turn("priority " + std::to_string(wanted));
    SAY(cuStreamCreateWithPriority(&other, CU_STREAM_NON_BLOCKING, wanted));
    SAY_VALUE(priority, cuStreamGetPriority(other, &priority));
  }
  SAY_VALUE(flags, cuStreamGetFlags(other, &flags));
  for (const auto default_stream : {CUstream{}, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD}) {
    const Turn turn("stream " + std::to_string(reinterpret_cast<size_t>(default_stream)));
    SAY_VALUE(flags, cuStreamGetFlags(default_stream, &flags));
    SAY_VALUE(priority, cuStreamGetPriority(default_stream, &priority));
    SAY(cuStreamGetId(default_stream, &id));
    SAY_VALUE(its == context, cuStreamGetCtx(default_stream, &its));
    SAY(cuStreamQuery(default_stream));
    SAY(cuStreamSynchronize(default_stream));
    SAY(cuStreamDestroy_v2(default_stream));
  }
  SAY(cuStreamGetId(nullptr, &id));
  SAY(cuStreamGetId(CU_STREAM_LEGACY, &other_id));
  NOTE(id == other_id);
  SAY(cuStreamGetId(stream, nullptr));
  SAY(cuStreamGetFlags(stream, nullptr));
  SAY(cuStreamGetPriority(stream, nullptr));
  SAY(cuStreamGetCtx(stream, nullptr));
  CUdevice device = 9;
  SAY_VALUE(device, cuStreamGetDevice(stream, &device));
  CUstreamAttrValue value{};
  for (int attribute = 0; attribute < 18; ++attribute) {
    const Turn turn("attribute " + std::to_string(attribute));
    value = {};
    SAY_VALUE(int{value.pad[0]},
              cuStreamGetAttribute(stream, static_cast<CUstreamAttrID>(attribute), &value));
    SAY(cuStreamSetAttribute(stream, static_cast<CUstreamAttrID>(attribute), &value));
  }
  value.syncPolicy = static_cast<CUsynchronizationPolicy>(77);
  SAY(cuStreamSetAttribute(stream, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &value));
  SAY(cuStreamCopyAttributes(stream, other));
  SAY(cuStreamCopyAttributes(stream, nullptr));
  SAY(cuStreamDestroy_v2(other));
  SAY(cuStreamDestroy_v2(other));
  SAY(cuStreamSynchronize(other));
  SAY(cuStreamQuery(nowhere<CUstream_st>()));
  SAY(cuStreamSynchronize(nowhere<CUstream_st>()));
  SAY(cuStreamDestroy_v2(nowhere<CUstream_st>()));
  SAY(cuLaunchHostFunc(stream, nullptr, nullptr));
  SAY(cuStreamAddCallback(stream, nullptr, nullptr, 0));
  SAY(cuStreamAddCallback(stream, [](CUstream, CUresult, void*) {}, nullptr, 1));
  SAY(cuStreamAddCallback(stream, [](CUstream, CUresult, void*) {}, nullptr, 0));
  SAY(cuStreamSynchronize(stream));
}

CUresult said_inside[8];
void calls_the_driver(void*) {
  CUdeviceptr address = 0;
  CUcontext context = nullptr;
  int value = 0;
  said_inside[0] = cuMemAlloc_v2(&address, 16);
  said_inside[1] = cuCtxGetCurrent(&context);
  said_inside[2] = cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0);
  said_inside[3] = cuStreamQuery(nullptr);
  said_inside[4] = cuDeviceGetCount(&value);
  said_inside[5] = cuCtxSetCurrent(nullptr);
  said_inside[6] = cuDriverGetVersion(&value);
  said_inside[7] = cuInit(0);
}

void host_functions() {
  begin();
  CUstream stream = nullptr;
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuLaunchHostFunc(stream, calls_the_driver, nullptr));
  SAY(cuStreamSynchronize(stream));
  for (const CUresult& said : said_inside)
    NOTE(said);
}

void events() {
  begin();
  CUstream stream = nullptr;
  CUevent a = nullptr, b = nullptr, untimed = nullptr, wrong = nullptr;
  float time = -1;
  SAY(cuStreamCreate(&stream, 0));
  SAY(cuEventCreate(&a, 0));
  SAY(cuEventCreate(&b, CU_EVENT_BLOCKING_SYNC));
  SAY(cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING));
  SAY(cuEventCreate(&wrong, CU_EVENT_INTERPROCESS));
  SAY(cuEventCreate(&wrong, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
  SAY(cuEventCreate(&wrong, 64));
  SAY(cuEventCreate(nullptr, 0));
  SAY(cuEventQuery(a));
  SAY(cuEventSynchronize(a));
  SAY(cuStreamWaitEvent(stream, a, 0));
  SAY(cuStreamWaitEvent(stream, a, 8));
  SAY(cuEventElapsedTime(&time, a, b));
  SAY(cuEventElapsedTime_v2(&time, a, b));
  SAY(cuEventRecord(a, stream));
  SAY(cuEventRecordWithFlags(b, stream, 8));
  SAY(cuEventRecordWithFlags(b, stream, CU_EVENT_RECORD_EXTERNAL));
  SAY(cuEventElapsedTime(&time, a, b));
  SAY(cuEventRecordWithFlags(b, stream, 0));
  SAY(cuEventRecord(untimed, stream));
  SAY(cuStreamSynchronize(stream));
  SAY(cuEventElapsedTime(&time, a, b));
  NOTE(time >= 0);
  SAY(cuEventElapsedTime_v2(&time, a, b));
  SAY(cuEventElapsedTime(&time, b, a));
  NOTE(time <= 0);
  SAY(cuEventElapsedTime(&time, a, untimed));
  SAY(cuEventElapsedTime_v2(&time, a, untimed));
  SAY(cuEventElapsedTime(nullptr, a, b));
  SAY(cuEventElapsedTime(&time, nullptr, b));
  SAY(cuEventRecord(nullptr, stream));
  SAY(cuEventQuery(nullptr));
  SAY(cuEventSynchronize(nullptr));
  SAY(cuEventDestroy_v2(nullptr));
  SAY(cuStreamWaitEvent(stream, nullptr, 0));
  SAY(cuEventDestroy_v2(a));
  SAY(cuEventDestroy_v2(a));
  SAY(cuEventQuery(a));
}

// Waits that are fulfilled when they are begun.
void memory_operations() {
  begin();
  CUdeviceptr x = device_bytes(4096);
  CUstream stream = nullptr;
  int value = 0;
  SAY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  SAY(cuMemsetD8_v2(x, 0, 4096));
  SAY(cuStreamWriteValue32_v2(stream, x, 7, 0));
  SAY(cuStreamSynchronize(stream));
  SAY_VALUE(value, cuMemcpyDtoH_v2(&value, x, 4));
  SAY(cuStreamWaitValue32_v2(stream, x, 7, CU_STREAM_WAIT_VALUE_EQ));
  SAY(cuStreamWaitValue32_v2(stream, x, 5, CU_STREAM_WAIT_VALUE_GEQ));
  SAY(cuStreamWaitValue32_v2(stream, x, 3, CU_STREAM_WAIT_VALUE_AND));
  SAY(cuStreamSynchronize(stream));
  SAY(cuStreamWaitValue32_v2(stream, x, 0xf0000000, CU_STREAM_WAIT_VALUE_GEQ));
  SAY(cuStreamSynchronize(stream));
  SAY(cuStreamWaitValue32_v2(stream, x, 7, CU_STREAM_WAIT_VALUE_NOR));
  SAY(cuStreamSynchronize(stream));
  SAY(cuStreamWaitValue32_v2(stream, x, 7, CU_STREAM_WAIT_VALUE_FLUSH));
  SAY(cuStreamWaitValue32_v2(stream, x, 7, 64));
  SAY(cuStreamWaitValue32_v2(stream, x + 1, 0, CU_STREAM_WAIT_VALUE_GEQ));
  SAY(cuStreamWaitValue32_v2(stream, x + 2, 0, CU_STREAM_WAIT_VALUE_GEQ));
  SAY(cuStreamWaitValue32_v2(stream, 0, 7, CU_STREAM_WAIT_VALUE_GEQ));
  SAY(cuStreamWriteValue32_v2(stream, x + 2, 7, 0));
  SAY(cuStreamWriteValue32_v2(stream, 0, 7, 0));
  SAY(cuStreamWriteValue32_v2(stream, x, 8, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER));
  SAY(cuStreamWriteValue32_v2(stream, x, 8, 64));
  SAY(cuStreamWriteValue64_v2(stream, x + 8, 9, 0));
  SAY(cuStreamWriteValue64_v2(stream, x + 100, 9, 0));
  SAY(cuStreamWaitValue64_v2(stream, x + 8, 9, CU_STREAM_WAIT_VALUE_EQ));
  SAY(cuStreamWaitValue64_v2(stream, x + 100, 0, CU_STREAM_WAIT_VALUE_GEQ));
  SAY(cuStreamWriteValue32_v2(nullptr, x, 8, 0));
  SAY(cuStreamWriteValue32(stream, x, 8, 0));
  SAY(cuStreamWaitValue32(stream, x, 8, CU_STREAM_WAIT_VALUE_EQ));
  SAY(cuStreamSynchronize(stream));
  CUstreamBatchMemOpParams several[3] = {};
  several[0].operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  several[0].writeValue.address = x + 16;
  several[0].writeValue.value = 5;
  several[1].operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  several[1].waitValue.address = x + 16;
  several[1].waitValue.value = 5;
  several[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  several[2].operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
  several[2].writeValue.address = x + 24;
  several[2].writeValue.value64 = 6;
  SAY(cuStreamBatchMemOp_v2(stream, 3, several, 0));
  SAY(cuStreamSynchronize(stream));
  SAY_VALUE(value, cuMemcpyDtoH_v2(&value, x + 24, 4));
  SAY(cuStreamBatchMemOp_v2(stream, 0, several, 0));
  SAY(cuStreamBatchMemOp_v2(stream, 3, nullptr, 0));
  SAY(cuStreamBatchMemOp_v2(stream, 3, several, 1));
  several[0].operation = static_cast<CUstreamBatchMemOpType>(77);
  SAY(cuStreamBatchMemOp_v2(stream, 1, several, 0));
  several[0].operation = CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES;
  several[0].flushRemoteWrites.flags = 0;
  SAY(cuStreamBatchMemOp_v2(stream, 1, several, 0));
  several[0].operation = CU_STREAM_MEM_OP_BARRIER;
  several[0].memoryBarrier.flags = 0;
  SAY(cuStreamBatchMemOp_v2(stream, 1, several, 0));
  several[0].memoryBarrier.flags = 1;
  SAY(cuStreamBatchMemOp_v2(stream, 1, several, 0));
  several[0].memoryBarrier.flags = 2;
  SAY(cuStreamBatchMemOp_v2(stream, 1, several, 0));
  SAY(cuStreamSynchronize(stream));
  static int own = 0;
  SAY(cuStreamWriteValue32_v2(stream, reinterpret_cast<CUdeviceptr>(&own), 8, 0));
  void* pinned = nullptr;
  SAY(cuMemHostAlloc(&pinned, 64, 0));
  SAY(cuStreamWriteValue32_v2(stream, reinterpret_cast<CUdeviceptr>(pinned), 8, 0));
  SAY(cuStreamSynchronize(stream));
  NOTE(*static_cast<int*>(pinned));
}

void batches() {
  begin();
  CUdeviceptr x = device_bytes(4096), y = device_bytes(4096);
  CUstream stream = nullptr;
  SAY(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr to[] = {y, y + 512}, from[] = {x, x + 512};
  size_t sizes[] = {256, 256}, first[] = {0};
  CUmemcpyAttributes attributes[1] = {};
  attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
  SAY(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, first, 1, stream));
  SAY(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, first, 1, nullptr));
  SAY(cuMemcpyBatchAsync_v2(to, from, sizes, 0, attributes, first, 1, stream));
  SAY(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, first, 0, stream));
  SAY(cuMemcpyBatchAsync_v2(nullptr, from, sizes, 2, attributes, first, 1, stream));
  SAY(cuMemcpyBatchAsync_v2(to, from, nullptr, 2, attributes, first, 1, stream));
  SAY(cuMemcpyBatchAsync_v2(to, from, sizes, 2, nullptr, first, 1, stream));
  attributes[0].srcAccessOrder = static_cast<CUmemcpySrcAccessOrder>(0);
  SAY(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, first, 1, stream));
  attributes[0].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_ANY;
  first[0] = 1;
  SAY(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, first, 1, stream));
  first[0] = 0;
  sizes[1] = 0;
  SAY(cuMemcpyBatchAsync_v2(to, from, sizes, 2, attributes, first, 1, stream));
  sizes[1] = 256;
  size_t failed = 99;
  SAY_VALUE(failed, cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, &failed, stream));
  to[1] = 0;
  SAY(cuMemcpyBatchAsync(to, from, sizes, 2, attributes, first, 1, &failed, stream));
  NOTE(failed);
  SAY(cuStreamSynchronize(stream));
}

} // namespace

std::vector<Section> stream_sections() {
  return {{"streams", streams},
          {"host functions", host_functions},
          {"events", events},
          {"memory operations", memory_operations},
          {"batches", batches}};
}

} // namespace record
