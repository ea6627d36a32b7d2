// Events.
#include "cudart/api.h"
#include "cudart/call.h"

using namespace lemma::cudart;

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return pass(&Driver::cuEventCreate, event, flags);
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return pass(&Driver::cuEventDestroy_v2, event);
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return pass(&Driver::cuEventRecord, event, stream);
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return pass(&Driver::cuEventRecordWithFlags, event, stream, flags);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return pass(&Driver::cuEventQuery, event);
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return pass(&Driver::cuEventSynchronize, event);
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t begin, cudaEvent_t end) {
  return pass(&Driver::cuEventElapsedTime_v2, milliseconds, begin, end);
}
