// The sum of 2^24 numbers by a graph: a copy, fills, two kernels, a copy back and a host function, made node by node and by
// capture; three launches of each, and of a clone.
#include "../check.h"

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr int kCount = 1 << 24, kBlocks = 512, kThreads = 512, kLaunches = 3;

__device__ double sum_of_block(double sum, double* shared) {
  const cg::thread_block block = cg::this_thread_block();
  const auto warp = cg::tiled_partition<32>(block);
  for (int distance = 16; distance > 0; distance /= 2)
    sum += warp.shfl_down(sum, distance);
  if (warp.thread_rank() == 0)
    shared[warp.meta_group_rank()] = sum;
  cg::sync(block);
  sum = 0;
  if (block.thread_rank() == 0)
    for (unsigned i = 0; i < warp.meta_group_size(); ++i)
      sum += shared[i];
  return sum;
}

__global__ void add_up(const float* in, double* partial, int count) {
  __shared__ double shared[kThreads / 32];
  double sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    sum += in[i];
  sum = sum_of_block(sum, shared);
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sum;
}

__global__ void add_up_partial(const double* partial, double* total, int count) {
  __shared__ double shared[kThreads / 32];
  const double sum = sum_of_block(threadIdx.x < count ? partial[threadIdx.x] : 0, shared);
  if (threadIdx.x == 0)
    *total += sum;
}

struct Outcome {
  double sum = 0;
  int calls = 0;
  double* read = nullptr;
};

void note(void* data) {
  auto& outcome = *static_cast<Outcome*>(data);
  outcome.sum = *outcome.read;
  ++outcome.calls;
}

// Launches a graph, and a clone of it.
void launch(cudaGraph_t graph, cudaStream_t stream, Outcome& outcome, double wanted) {
  cudaGraph_t clone = nullptr;
  ok(cudaGraphClone(&clone, graph));
  for (const cudaGraph_t each : {graph, clone}) {
    cudaGraphExec_t exec = nullptr;
    ok(cudaGraphInstantiate(&exec, each, 0));
    for (int i = 0; i < kLaunches; ++i) {
      outcome.sum = 0;
      ok(cudaGraphLaunch(exec, stream));
      ok(cudaStreamSynchronize(stream));
      equal(wanted, outcome.sum);
    }
    ok(cudaGraphExecDestroy(exec));
  }
  equal(2 * kLaunches, outcome.calls);
  ok(cudaGraphDestroy(clone));
  ok(cudaGraphDestroy(graph));
}

int main() {
  const auto values = small_numbers<float>(kCount, 0, 255);
  double wanted = 0;
  for (const float value : values)
    wanted += value;
  DeviceArray<float> in(kCount);
  DeviceArray<double> partial(kBlocks), total(1);
  double read = 0;
  cudaStream_t stream, other;
  ok(cudaStreamCreate(&stream));
  ok(cudaStreamCreate(&other));

  Outcome of_nodes{.read = &read};
  cudaGraph_t graph = nullptr;
  ok(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t copy, fill_partial, fill_total, first, second, back, host;
  ok(cudaGraphAddMemcpyNode1D(&copy, graph, nullptr, 0, in.data(), values.data(), in.bytes(), cudaMemcpyHostToDevice));
  cudaMemsetParams fill = {};
  fill.dst = partial.data();
  fill.elementSize = 4;
  fill.width = kBlocks * 2;
  fill.height = 1;
  ok(cudaGraphAddMemsetNode(&fill_partial, graph, nullptr, 0, &fill));
  fill.dst = total.data();
  fill.width = 2;
  ok(cudaGraphAddMemsetNode(&fill_total, graph, nullptr, 0, &fill));
  const float* in_data = in.data();
  double *partial_data = partial.data(), *total_data = total.data();
  int count = kCount, blocks = kBlocks;
  void* first_arguments[] = {&in_data, &partial_data, &count};
  cudaKernelNodeParams kernel = {};
  kernel.func = reinterpret_cast<void*>(add_up);
  kernel.gridDim = kBlocks;
  kernel.blockDim = kThreads;
  kernel.kernelParams = first_arguments;
  const cudaGraphNode_t before_first[] = {copy, fill_partial};
  ok(cudaGraphAddKernelNode(&first, graph, before_first, 2, &kernel));
  void* second_arguments[] = {&partial_data, &total_data, &blocks};
  kernel.func = reinterpret_cast<void*>(add_up_partial);
  kernel.gridDim = 1;
  kernel.kernelParams = second_arguments;
  const cudaGraphNode_t before_second[] = {first, fill_total};
  ok(cudaGraphAddKernelNode(&second, graph, before_second, 2, &kernel));
  ok(cudaGraphAddMemcpyNode1D(&back, graph, &second, 1, &read, total.data(), sizeof read, cudaMemcpyDeviceToHost));
  const cudaHostNodeParams noting = {note, &of_nodes};
  ok(cudaGraphAddHostNode(&host, graph, &back, 1, &noting));
  launch(graph, stream, of_nodes, wanted);

  Outcome captured{.read = &read};
  cudaEvent_t fork, join;
  ok(cudaEventCreate(&fork));
  ok(cudaEventCreate(&join));
  ok(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  ok(cudaEventRecord(fork, stream));
  ok(cudaStreamWaitEvent(other, fork));
  ok(cudaMemcpyAsync(in.data(), values.data(), in.bytes(), cudaMemcpyDefault, stream));
  ok(cudaMemsetAsync(partial.data(), 0, partial.bytes(), other));
  ok(cudaMemsetAsync(total.data(), 0, total.bytes(), other));
  ok(cudaEventRecord(join, other));
  ok(cudaStreamWaitEvent(stream, join));
  add_up<<<kBlocks, kThreads, 0, stream>>>(in.data(), partial.data(), kCount);
  add_up_partial<<<1, kThreads, 0, stream>>>(partial.data(), total.data(), kBlocks);
  ok(cudaMemcpyAsync(&read, total.data(), sizeof read, cudaMemcpyDefault, stream));
  ok(cudaLaunchHostFunc(stream, note, &captured));
  ok(cudaStreamEndCapture(stream, &graph));
  launch(graph, stream, captured, wanted);

  ok(cudaEventDestroy(fork));
  ok(cudaEventDestroy(join));
  ok(cudaStreamDestroy(stream));
  ok(cudaStreamDestroy(other));
  return result();
}
