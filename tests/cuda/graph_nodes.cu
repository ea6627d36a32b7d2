// A graph made node by node: fills, kernels, copies, a host function; launched again and again.
#include "check.h"

__global__ void add(int* data, int by) {
  data[threadIdx.x] += by;
}

void CUDART_CB count_calls(void* data) {
  ++*static_cast<int*>(data);
}

int main() {
  DeviceArray<int> data(64), other(64);
  std::vector<int> back(64);
  int calls = 0, *pointer = data.data(), by = 5;
  cudaGraph_t graph;
  ok(cudaGraphCreate(&graph, 0));
  cudaGraphNode_t fill, kernel, copy, out, host;
  cudaMemsetParams fill_parameters = {};
  fill_parameters.dst = data.data();
  fill_parameters.value = 3;
  fill_parameters.elementSize = 4;
  fill_parameters.width = 64;
  fill_parameters.height = 1;
  ok(cudaGraphAddMemsetNode(&fill, graph, nullptr, 0, &fill_parameters));
  void* arguments[] = {&pointer, &by};
  cudaKernelNodeParams kernel_parameters = {};
  kernel_parameters.func = reinterpret_cast<void*>(add);
  kernel_parameters.gridDim = dim3(1);
  kernel_parameters.blockDim = dim3(64);
  kernel_parameters.kernelParams = arguments;
  ok(cudaGraphAddKernelNode(&kernel, graph, &fill, 1, &kernel_parameters));
  ok(cudaGraphAddMemcpyNode1D(&copy, graph, &kernel, 1, other.data(), data.data(), data.bytes(),
                              cudaMemcpyDeviceToDevice));
  ok(cudaGraphAddMemcpyNode1D(&out, graph, &copy, 1, back.data(), other.data(), data.bytes(),
                              cudaMemcpyDeviceToHost));
  cudaHostNodeParams host_parameters = {count_calls, &calls};
  ok(cudaGraphAddHostNode(&host, graph, &out, 1, &host_parameters));
  size_t nodes = 0, roots = 0;
  ok(cudaGraphGetNodes(graph, nullptr, &nodes));
  ok(cudaGraphGetRootNodes(graph, nullptr, &roots));
  equal(5, nodes);
  equal(1, roots);
  cudaGraphNodeType type;
  ok(cudaGraphNodeGetType(copy, &type));
  equal(cudaGraphNodeTypeMemcpy, type);

  cudaGraphExec_t executable;
  ok(cudaGraphInstantiate(&executable, graph, 0));
  cudaStream_t stream;
  ok(cudaStreamCreate(&stream));
  for (int i = 0; i < 3; ++i)
    ok(cudaGraphLaunch(executable, stream));
  ok(cudaStreamSynchronize(stream));
  equal(3, calls);
  equal(std::vector<int>(64, 8), back);
  by = 7; // a node's parameters, after it was instantiated
  ok(cudaGraphExecKernelNodeSetParams(executable, kernel, &kernel_parameters));
  ok(cudaGraphLaunch(executable, stream));
  ok(cudaStreamSynchronize(stream));
  equal(std::vector<int>(64, 10), back);
  ok(cudaGraphExecDestroy(executable));
  ok(cudaGraphDestroy(graph));
  ok(cudaStreamDestroy(stream));
  return result();
}
