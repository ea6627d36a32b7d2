// Streams, and capture into graphs.
#include "cudart/api.h"
#include "cudart/call.h"

using namespace lemma::cudart;

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return pass(&Driver::cuStreamCreate, stream, flags);
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return pass(&Driver::cuStreamCreateWithPriority, stream, flags, priority);
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return pass(&Driver::cuStreamDestroy_v2, stream);
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return pass(&Driver::cuStreamSynchronize, stream);
}
cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return pass(&Driver::cuStreamQuery, stream);
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return pass(&Driver::cuStreamWaitEvent, stream, event, flags);
}
// The status that it gets has the same numbers.
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned flags) {
  return pass(&Driver::cuStreamAddCallback, stream, reinterpret_cast<CUstreamCallback>(callback), data,
              flags);
}
cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, void* address, size_t bytes, unsigned flags) {
  return pass(&Driver::cuStreamAttachMemAsync, stream, address, bytes, flags);
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return pass(&Driver::cuStreamGetFlags, stream, flags);
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return pass(&Driver::cuStreamGetPriority, stream, priority);
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return pass(&Driver::cuStreamGetId, stream, id);
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return pass(&Driver::cuStreamGetDevice, stream, device);
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   cudaLaunchAttributeValue* value) {
  return pass(&Driver::cuStreamGetAttribute, stream, attribute, value);
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaLaunchAttributeID attribute,
                                   const cudaLaunchAttributeValue* value) {
  return pass(&Driver::cuStreamSetAttribute, stream, attribute, value);
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return pass(&Driver::cuStreamCopyAttributes, to, from);
}

// --- capture

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return pass(&Driver::cuStreamBeginCapture_v2, stream, mode);
}
cudaError_t cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                          const cudaGraphNode_t* dependencies, const cudaGraphEdgeData* edges,
                                          size_t count, cudaStreamCaptureMode mode) {
  return pass(&Driver::cuStreamBeginCaptureToGraph, stream, graph, dependencies, edges, count, mode);
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return pass(&Driver::cuStreamEndCapture, stream, graph);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  return pass(&Driver::cuStreamIsCapturing, stream, status);
}
cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                     size_t* count) {
  return pass(&Driver::cuStreamGetCaptureInfo_v3, stream, status, id, graph, dependencies, edges, count);
}
cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream, cudaGraphNode_t* dependencies,
                                                const cudaGraphEdgeData* edges, size_t count,
                                                unsigned flags) {
  return pass(&Driver::cuStreamUpdateCaptureDependencies_v2, stream, dependencies, edges, count, flags);
}
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  return pass(&Driver::cuThreadExchangeStreamCaptureMode, mode);
}
