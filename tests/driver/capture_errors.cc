// What cannot be captured, and what a capture forbids.
#include "check.h"

#include <thread>

namespace {

void nothing(CUstream, CUresult, void*) {}

} // namespace

int main() {
  const CUcontext context = begin();
  const CUfunction add = function(load_kernels(), "add");
  CUstream a = nullptr, b = nullptr;
  OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
  const CUdeviceptr x = allocate_ints(32);
  CUgraph graph = nullptr;
  CUevent event = nullptr;
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));

  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        cuStreamBeginCapture_v2(nullptr, CU_STREAM_CAPTURE_MODE_GLOBAL));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture_v2(a, static_cast<CUstreamCaptureMode>(7)));
  FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(a, &graph));

  // Waiting for what does not run ends the capture.
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamSynchronize(a));
  CUstreamCaptureStatus status{};
  OK(cuStreamIsCapturing(a, &status));
  EQUAL(CU_STREAM_CAPTURE_STATUS_INVALIDATED, status);
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, launch(add, 1, 32, a, x, 1, 32));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
  CHECK(graph == nullptr);
  OK(cuStreamIsCapturing(a, &status));
  EQUAL(CU_STREAM_CAPTURE_STATUS_NONE, status);

  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback(a, nothing, nullptr, 0));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));

  // The legacy stream would wait for a blocking one that captures, in whatever mode.
  CUstream blocking = nullptr;
  OK(cuStreamCreate(&blocking, 0));
  OK(cuStreamBeginCapture_v2(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, launch(add, 1, 32, nullptr, x, 1, 32));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(blocking, &graph));
  // ... and not for one that does not block.
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch(add, 1, 32, nullptr, x, 1, 32));
  OK(cuMemsetD32_v2(x, 0, 32));
  OK(cuStreamEndCapture(a, &graph));

  // Calls that wait, or might touch what is captured, spoil it...
  const auto spoils = [&](auto call) {
    OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
    FAILS(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, call());
    FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
  };
  CUdeviceptr memory = 0;
  OK(cuEventRecord(event, b));
  spoils([] { return cuCtxSynchronize(); });
  spoils([&] { return cuStreamSynchronize(b); });
  spoils([&] { return cuStreamQuery(b); });
  spoils([&] { return cuEventQuery(event); });
  spoils([&] { return cuEventSynchronize(event); });
  spoils([&] { return cuMemAlloc_v2(&memory, 64); });
  spoils([] { return cuMemFree_v2(0); });
  spoils([&] { return cuMemAllocManaged(&memory, 64, CU_MEM_ATTACH_GLOBAL); });
  spoils([&] { return cuMemAllocAsync(&memory, 64, b); });
  // ... unless the thread says that it knows what it does.
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EQUAL(CU_STREAM_CAPTURE_MODE_GLOBAL, mode);
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuMemAlloc_v2(&memory, 64));
  OK(launch(add, 1, 32, b, x, 1, 32));
  OK(cuStreamSynchronize(b));
  OK(cuStreamEndCapture(a, &graph));
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  if (!on_gpu()) // where it crashes
    FAILS(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode(nullptr));

  // So do launches that are refused, and questions for an event that stands for a place in the graph.
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch(add, 1, 2000, a, x, 1, 32));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cuEventRecord(event, a));
  FAILS(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery(event));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuEventSynchronize(event));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));

  // Streams that did not come back.
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(launch(add, 1, 32, a, x, 1, 32));
  OK(cuEventRecord(event, a));
  OK(cuStreamWaitEvent(b, event, 0));
  OK(launch(add, 1, 32, b, x, 1, 32));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture(a, &graph));
  OK(cuStreamIsCapturing(b, &status));
  EQUAL(CU_STREAM_CAPTURE_STATUS_NONE, status);

  // One that is not the first of it cannot end it.
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(cuEventRecord(event, a));
  OK(cuStreamWaitEvent(b, event, 0));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture(b, &graph));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));

  // Events from outside, and two captures.
  OK(cuEventRecord(event, b));
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent(a, event, 0));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(launch(add, 1, 32, a, x, 1, 32));
  OK(cuEventRecord(event, a));
  OK(cuStreamBeginCapture_v2(b, CU_STREAM_CAPTURE_MODE_RELAXED));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent(b, event, 0));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(b, &graph));
  FAILS(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture(a, &graph));

  // Another thread may not end it.
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  std::thread([&] {
    OK(cuCtxSetCurrent(context));
    CUgraph none = nullptr;
    FAILS(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, cuStreamEndCapture(a, &none));
  }).join();
  FAILS(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture(a, &graph)); // that was its end

  // An event that stood for a place in a graph stands for nothing once that is there.
  OK(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(launch(add, 1, 32, a, x, 1, 32));
  OK(cuEventRecord(event, a));
  OK(cuStreamEndCapture(a, &graph));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuEventQuery(event));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent(b, event, 0));
  return result();
}
