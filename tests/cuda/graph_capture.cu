// Graphs captured from streams: a fork by events, a nested graph's clone, an update of what is instantiated.
#include "check.h"

__global__ void scale(int* data, int by) {
  data[threadIdx.x] *= by;
}
__global__ void add(const int* a, const int* b, int* sum) {
  sum[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}

cudaGraph_t capture(cudaStream_t stream, cudaStream_t side, int* a, int* b, int* sum, int factor) {
  cudaEvent_t fork, join;
  ok(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  ok(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ok(cudaMemsetAsync(sum, 0, 64 * sizeof(int), stream));
  ok(cudaEventRecord(fork, stream));
  ok(cudaStreamWaitEvent(side, fork));
  scale<<<1, 64, 0, stream>>>(a, factor);
  scale<<<1, 64, 0, side>>>(b, factor + 1);
  cudaStreamCaptureStatus status;
  ok(cudaStreamIsCapturing(side, &status));
  equal(cudaStreamCaptureStatusActive, status);
  ok(cudaEventRecord(join, side));
  ok(cudaStreamWaitEvent(stream, join));
  add<<<1, 64, 0, stream>>>(a, b, sum);
  cudaGraph_t graph = nullptr;
  ok(cudaStreamEndCapture(stream, &graph));
  ok(cudaEventDestroy(fork));
  ok(cudaEventDestroy(join));
  return graph;
}

int main() {
  DeviceArray<int> a(std::vector<int>(64, 1)), b(std::vector<int>(64, 1)), sum(64);
  cudaStream_t stream, side;
  ok(cudaStreamCreate(&stream));
  ok(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  cudaGraph_t first = capture(stream, side, a.data(), b.data(), sum.data(), 2);
  equal(0, sum.host()[0]); // nothing has run
  size_t nodes = 0;
  ok(cudaGraphGetNodes(first, nullptr, &nodes));
  equal(4, nodes);
  cudaGraphExec_t executable;
  ok(cudaGraphInstantiate(&executable, first, 0));
  ok(cudaGraphLaunch(executable, stream));
  ok(cudaGraphLaunch(executable, stream));
  ok(cudaStreamSynchronize(stream));
  equal(std::vector<int>(64, 4 + 9), sum.host());
  cudaGraph_t second = capture(stream, side, a.data(), b.data(), sum.data(), 10);
  cudaGraphExecUpdateResultInfo info;
  ok(cudaGraphExecUpdate(executable, second, &info));
  ok(cudaGraphLaunch(executable, stream));
  ok(cudaStreamSynchronize(stream));
  equal(std::vector<int>(64, 40 + 99), sum.host());

  // A child graph, twice in a row.
  cudaGraph_t parent;
  cudaGraphNode_t one, two;
  ok(cudaGraphCreate(&parent, 0));
  ok(cudaGraphAddChildGraphNode(&one, parent, nullptr, 0, first));
  ok(cudaGraphAddChildGraphNode(&two, parent, &one, 1, first));
  cudaGraphExec_t nested;
  ok(cudaGraphInstantiate(&nested, parent, 0));
  ok(cudaGraphLaunch(nested, stream));
  ok(cudaStreamSynchronize(stream));
  equal(std::vector<int>(64, 160 + 99 * 9), sum.host());

  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  fails(cudaErrorStreamCaptureUnsupported, cudaStreamSynchronize(stream));
  cudaGraph_t broken = nullptr;
  fails(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &broken));
  cudaGetLastError();
  for (const cudaGraphExec_t each : {executable, nested})
    ok(cudaGraphExecDestroy(each));
  for (const cudaGraph_t each : {first, second, parent})
    ok(cudaGraphDestroy(each));
  ok(cudaStreamDestroy(stream));
  ok(cudaStreamDestroy(side));
  return result();
}
