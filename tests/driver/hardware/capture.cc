// What a capture takes, what it forbids, and what it says when it has gone wrong.
#include "record.h"

namespace record {
namespace {

struct Captured {
  CUfunction add;
  CUdeviceptr x;
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  CUgraph graph = nullptr;
  CUstreamCaptureStatus status{};

  Captured() {
    begin();
    add = function(kernels(), "add");
    x = device_bytes(4096);
    cuMemsetD8_v2(x, 0, 4096);
    cuStreamCreate(&a, CU_STREAM_NON_BLOCKING);
    cuStreamCreate(&b, CU_STREAM_NON_BLOCKING);
    cuEventCreate(&event, 0);
  }
  CUresult capture(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) {
    return cuStreamBeginCapture_v2(a, mode);
  }
  CUresult launch_in(CUstream stream) { return launch(add, 32, stream, x, 1, 32); }
  CUresult end(CUstream stream) {
    graph = nullptr;
    return cuStreamEndCapture(stream, &graph);
  }
};

void states() {
  Captured c;
  cuuint64_t id = 99;
  SAY(cuStreamEndCapture(c.a, &c.graph));
  SAY(cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  SAY(cuStreamBeginCapture_v2(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL));
  SAY(cuStreamBeginCapture_v2(c.a, static_cast<CUstreamCaptureMode>(7)));
  SAY_VALUE(c.status, cuStreamIsCapturing(nullptr, &c.status));
  SAY(cuStreamIsCapturing(c.a, nullptr));
  SAY_VALUE(c.status, cuStreamGetCaptureInfo(c.a, &c.status, &id));
  SAY(c.capture());
  SAY(c.capture());
  SAY_VALUE(c.status, cuStreamIsCapturing(c.a, &c.status));
  SAY_VALUE(c.status, cuStreamIsCapturing(nullptr, &c.status));
  SAY_VALUE(c.status, cuStreamIsCapturing(c.b, &c.status));
  SAY(cuStreamGetCaptureInfo(c.a, nullptr, &id));
  SAY(cuStreamEndCapture(c.b, &c.graph));
  SAY(cuStreamEndCapture(c.a, nullptr));
  SAY(c.end(c.a));
  SAY(c.capture());
  SAY(c.end(c.a));
  NOTE(c.graph);
  CUstreamCaptureMode mode = static_cast<CUstreamCaptureMode>(9);
  SAY(cuThreadExchangeStreamCaptureMode(&mode));
  SAY(cuThreadExchangeStreamCaptureMode(nullptr));
  mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  SAY_VALUE(mode, cuThreadExchangeStreamCaptureMode(&mode));
  SAY(c.capture(CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(cuStreamDestroy_v2(c.a));
}

// Each in a capture of its own: what the call says, what has become of the capture, how it ends.
void during() {
  Captured c;
  CUdeviceptr address = 0;
  void* host = nullptr;
  static int values[64];
  CUstream made = nullptr;
  CUevent made_event = nullptr;
  CUmodule module = nullptr;
  size_t bytes = 0;
  const CUdeviceptr spare = device_bytes(64);
  const auto in_capture = [&](CUstreamCaptureMode mode, const auto& call) {
    cuCtxSynchronize();
    c.capture(mode);
    const CUresult said = call();
    cuStreamIsCapturing(c.a, &c.status);
    const CUresult ended = c.end(c.a);
    return name_of(said) + ", then " + std::to_string(c.status) + ", " + name_of(ended);
  };
#define IN_CAPTURE(...) SAY(in_capture(mode, [&] { return (__VA_ARGS__); }))
  for (const auto mode :
       {CU_STREAM_CAPTURE_MODE_GLOBAL, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CU_STREAM_CAPTURE_MODE_RELAXED}) {
    const Turn turn("mode " + std::to_string(mode));
    IN_CAPTURE(c.launch_in(c.a));
    IN_CAPTURE(c.launch_in(c.b));
    IN_CAPTURE(c.launch_in(nullptr));
    IN_CAPTURE(c.launch_in(CU_STREAM_PER_THREAD));
    IN_CAPTURE(cuStreamSynchronize(c.a));
    IN_CAPTURE(cuStreamSynchronize(c.b));
    IN_CAPTURE(cuStreamSynchronize(nullptr));
    IN_CAPTURE(cuStreamQuery(c.a));
    IN_CAPTURE(cuStreamQuery(c.b));
    IN_CAPTURE(cuStreamQuery(nullptr));
    IN_CAPTURE(cuCtxSynchronize());
    IN_CAPTURE(cuMemAlloc_v2(&address, 64));
    IN_CAPTURE(cuMemHostAlloc(&host, 64, 0));
    IN_CAPTURE(cuMemAllocManaged(&address, 64, CU_MEM_ATTACH_GLOBAL));
    IN_CAPTURE(cuMemGetInfo_v2(&bytes, nullptr));
    IN_CAPTURE(cuMemcpyHtoD_v2(c.x, values, 64));
    IN_CAPTURE(cuMemcpyDtoH_v2(values, c.x, 64));
    IN_CAPTURE(cuMemcpyDtoD_v2(c.x, c.x + 64, 64));
    IN_CAPTURE(cuMemsetD8_v2(c.x, 0, 64));
    IN_CAPTURE(cuMemcpyHtoDAsync_v2(c.x, values, 64, c.a));
    IN_CAPTURE(cuMemcpyDtoHAsync_v2(values, c.x, 64, c.a));
    IN_CAPTURE(cuMemsetD8Async(c.x, 0, 64, c.a));
    IN_CAPTURE(cuMemsetD8Async(c.x, 0, 64, c.b));
    IN_CAPTURE(cuMemAllocAsync(&address, 64, c.a));
    IN_CAPTURE(cuMemAllocAsync(&address, 64, c.b));
    IN_CAPTURE(cuMemFreeAsync(spare, c.a));
    IN_CAPTURE(cuEventRecord(c.event, c.a));
    IN_CAPTURE(cuEventRecord(c.event, c.b));
    IN_CAPTURE(cuEventRecord(c.event, nullptr));
    IN_CAPTURE(cuEventQuery(c.event));
    IN_CAPTURE(cuEventSynchronize(c.event));
    IN_CAPTURE(cuStreamWaitEvent(c.a, c.event, 0));
    IN_CAPTURE(cuStreamWaitEvent(c.a, c.event, CU_EVENT_WAIT_EXTERNAL));
    IN_CAPTURE(cuStreamWaitEvent(c.b, c.event, 0));
    IN_CAPTURE(cuEventRecordWithFlags(c.event, c.a, CU_EVENT_RECORD_EXTERNAL));
    IN_CAPTURE(cuStreamAddCallback(c.a, [](CUstream, CUresult, void*) {}, nullptr, 0));
    IN_CAPTURE(cuLaunchHostFunc(c.a, [](void*) {}, nullptr));
    IN_CAPTURE(cuStreamAttachMemAsync(c.a, c.x, 0, CU_MEM_ATTACH_SINGLE));
    IN_CAPTURE(cuMemPrefetchAsync(c.x, 64, 0, c.a));
    IN_CAPTURE(cuStreamWriteValue32_v2(c.a, c.x, 1, 0));
    IN_CAPTURE(cuMemFree_v2(0));
    IN_CAPTURE(cuMemFreeHost(nullptr));
    IN_CAPTURE(cuStreamCreate(&made, 0));
    IN_CAPTURE(cuEventCreate(&made_event, 0));
    IN_CAPTURE(cuModuleLoadData(
        &module, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k() { ret; }\n"));
    IN_CAPTURE(cuModuleUnload(module));
    IN_CAPTURE(cuEventDestroy_v2(made_event));
    IN_CAPTURE(launch(c.add, 2000, c.a, c.x, 1, 32));
    IN_CAPTURE(cuStreamDestroy_v2(c.b));
    SAY(cuStreamCreate(&c.b, CU_STREAM_NON_BLOCKING));
  }
#undef IN_CAPTURE
}

void several_streams() {
  Captured c;
  SAY(c.capture(CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(c.launch_in(c.a));
  SAY(cuEventRecord(c.event, c.a));
  SAY(cuEventQuery(c.event));
  SAY(cuEventSynchronize(c.event));
  SAY_VALUE(c.status, cuStreamIsCapturing(c.a, &c.status));
  SAY(c.end(c.a));
  SAY(cuEventQuery(c.event));
  SAY(cuStreamWaitEvent(c.b, c.event, 0));
  SAY(cuEventRecord(c.event, c.b));
  SAY(cuStreamSynchronize(c.b));
  SAY(cuEventQuery(c.event));
  // One that does not come back.
  SAY(c.capture(CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(c.launch_in(c.a));
  SAY(cuEventRecord(c.event, c.a));
  SAY(cuStreamWaitEvent(c.b, c.event, 0));
  SAY_VALUE(c.status, cuStreamIsCapturing(c.b, &c.status));
  SAY(c.launch_in(c.b));
  SAY(c.end(c.b));
  SAY_VALUE(c.status, cuStreamIsCapturing(c.b, &c.status));
  SAY(c.end(c.a));
  SAY_VALUE(c.status, cuStreamIsCapturing(c.b, &c.status));
  SAY(c.launch_in(c.b));
  // An event from outside.
  SAY(cuEventRecord(c.event, c.b));
  SAY(c.capture(CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(cuStreamWaitEvent(c.a, c.event, 0));
  SAY_VALUE(c.status, cuStreamIsCapturing(c.a, &c.status));
  SAY(c.launch_in(c.a));
  SAY(c.end(c.a));
  // Two captures.
  SAY(c.capture(CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(c.launch_in(c.a));
  SAY(cuEventRecord(c.event, c.a));
  SAY(cuStreamBeginCapture_v2(c.b, CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(cuStreamWaitEvent(c.b, c.event, 0));
  SAY_VALUE(c.status, cuStreamIsCapturing(c.a, &c.status));
  SAY_VALUE(c.status, cuStreamIsCapturing(c.b, &c.status));
  SAY(c.end(c.b));
  SAY(c.end(c.a));
  // The legacy stream beside one that blocks.
  CUstream blocking = nullptr;
  SAY(cuStreamCreate(&blocking, 0));
  SAY(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(c.launch_in(nullptr));
  SAY_VALUE(c.status, cuStreamIsCapturing(blocking, &c.status));
  SAY(c.end(blocking));
  SAY(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(cuStreamIsCapturing(nullptr, &c.status));
  SAY(cuStreamQuery(nullptr));
  SAY(c.end(blocking));
  SAY(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(cuMemsetD8_v2(c.x, 0, 64));
  SAY(c.end(blocking));
  SAY(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(cuStreamSynchronize(nullptr));
  SAY(c.end(blocking));
  // An event that stood for a place in a graph, once that is there.
  SAY(c.capture(CU_STREAM_CAPTURE_MODE_RELAXED));
  SAY(c.launch_in(c.a));
  SAY(cuEventRecord(c.event, c.a));
  SAY(c.end(c.a));
  SAY(cuEventQuery(c.event));
  SAY(cuEventSynchronize(c.event));
  SAY(cuStreamWaitEvent(c.b, c.event, 0));
  SAY(cuCtxSynchronize());
}

} // namespace

std::vector<Section> capture_sections() {
  return {{"capture", states}, {"capture: calls", during}, {"capture: streams", several_streams}};
}

} // namespace record
