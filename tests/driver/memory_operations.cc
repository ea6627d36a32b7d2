// Values that streams write to memory and wait for, one by one, in batches and in graphs: for the host, a
// kernel or another stream
#include "check.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace {

CUstream new_stream() {
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

CUdeviceptr zeros(size_t count) {
  const CUdeviceptr x = allocate_ints(count);
  OK(cuMemsetD32_v2(x, 0, count));
  OK(cuCtxSynchronize());
  return x;
}

void conditions() {
  const CUstream stream = new_stream();
  const CUdeviceptr x = zeros(4);
  OK(cuStreamWriteValue32_v2(stream, x, 7, 0));
  OK(cuStreamWriteValue64_v2(stream, x + 8, 0x8000000000000001, 0));
  OK(cuStreamWaitValue32_v2(stream, x, 7, CU_STREAM_WAIT_VALUE_EQ));
  OK(cuStreamWaitValue32_v2(stream, x, 5, CU_STREAM_WAIT_VALUE_GEQ));
  OK(cuStreamWaitValue32_v2(stream, x, 0xf0000000, CU_STREAM_WAIT_VALUE_GEQ)); // in a circle
  OK(cuStreamWaitValue32_v2(stream, x, 12, CU_STREAM_WAIT_VALUE_AND));
  OK(cuStreamWaitValue32_v2(stream, x, 0xfffffff0, CU_STREAM_WAIT_VALUE_NOR));
  OK(cuStreamWaitValue64_v2(stream, x + 8, 0x8000000000000001, CU_STREAM_WAIT_VALUE_EQ));
  OK(cuStreamWaitValue64_v2(stream, x + 8, 0x7fffffffffffffff, CU_STREAM_WAIT_VALUE_GEQ));
  OK(cuStreamWaitValue64_v2(stream, x + 8, uint64_t{1} << 63, CU_STREAM_WAIT_VALUE_AND));
  OK(cuStreamWaitValue64_v2(stream, x + 8, 1, CU_STREAM_WAIT_VALUE_NOR));
  OK(cuStreamSynchronize(stream));
  CHECK(read_ints(x, 4) == std::vector<int>{7, 0, 1, INT32_MIN});
}

// The host, a kernel and another stream are waited for; a kernel waits for a stream.
void who_writes(CUmodule module) {
  const CUfunction relay = function(module, "relay");
  const CUstream a = new_stream(), b = new_stream(), c = new_stream();
  int* flags = nullptr;
  OK(cuMemHostAlloc(reinterpret_cast<void**>(&flags), 64, CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(flags, 0, 64);
  const CUdeviceptr at = reinterpret_cast<CUdeviceptr>(flags), x = zeros(4);
  // a waits for the host, a kernel for what a writes, and b for that kernel. In this order: a GPU's streams
  // may share a queue, in which what is waited for has to come first.
  OK(launch(relay, 1, 1, c, x, x + 4));
  OK(cuStreamWaitValue32_v2(a, at, 1, CU_STREAM_WAIT_VALUE_GEQ));
  OK(cuStreamWriteValue32_v2(a, x, 9, 0));
  OK(cuStreamWaitValue32_v2(b, x + 4, 10, CU_STREAM_WAIT_VALUE_EQ));
  OK(cuStreamWriteValue32_v2(b, x + 8, 11, 0));
  FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(a));
  FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(b));
  FAILS(CUDA_ERROR_NOT_READY, cuStreamQuery(c));
  std::atomic_ref<int>(flags[0]).store(1);
  OK(cuStreamSynchronize(b));
  OK(cuStreamSynchronize(a));
  OK(cuStreamSynchronize(c));
  CHECK(read_ints(x, 3) == std::vector<int>{9, 10, 11});
}

// Two streams take turns at a kernel's memory, ordered by values alone.
void turns(CUmodule module) {
  constexpr int kThreads = 64, kRounds = 20;
  const CUfunction add = function(module, "add");
  const CUstream streams[2] = {new_stream(), new_stream()};
  const CUdeviceptr turn = zeros(1), x = zeros(kThreads);
  for (int round = 0; round < kRounds; ++round) {
    const CUstream stream = streams[round % 2];
    OK(cuStreamWaitValue32_v2(stream, turn, round, CU_STREAM_WAIT_VALUE_EQ));
    OK(launch(add, 1, kThreads, stream, x, round, kThreads));
    OK(cuStreamWriteValue32_v2(stream, turn, round + 1, 0));
  }
  OK(cuCtxSynchronize());
  EQUAL(kRounds * (kRounds - 1) / 2, read_ints(x, kThreads)[kThreads - 1]);
}

CUstreamBatchMemOpParams writing(CUdeviceptr address, unsigned value) {
  CUstreamBatchMemOpParams one{};
  one.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  one.writeValue.address = address;
  one.writeValue.value = value;
  return one;
}

CUstreamBatchMemOpParams waiting(CUdeviceptr address, unsigned value) {
  CUstreamBatchMemOpParams one{};
  one.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  one.waitValue.address = address;
  one.waitValue.value = value;
  one.waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  return one;
}

void batches() {
  const CUstream stream = new_stream();
  const CUdeviceptr x = zeros(4);
  CUstreamBatchMemOpParams several[3] = {writing(x, 5), waiting(x, 5), {}};
  several[2].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
  several[2].memoryBarrier.flags = CU_STREAM_MEMORY_BARRIER_TYPE_GPU;
  OK(cuStreamBatchMemOp_v2(stream, 3, several, 0));
  OK(cuStreamBatchMemOp_v2(stream, 0, several, 0));
  OK(cuStreamSynchronize(stream));
  EQUAL(5, read_ints(x, 1)[0]);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 3, several, 1));
  several[2].operation = static_cast<CUstreamBatchMemOpType>(77);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2(stream, 3, several, 0));
}

void graphs() {
  const CUstream stream = new_stream();
  const CUdeviceptr x = zeros(4);
  CUgraph graph = nullptr;
  OK(cuGraphCreate(&graph, 0));
  CUstreamBatchMemOpParams several[2] = {writing(x, 1), waiting(x, 1)};
  CUDA_BATCH_MEM_OP_NODE_PARAMS parameters{};
  OK(cuCtxGetCurrent(&parameters.ctx));
  parameters.count = 2;
  parameters.paramArray = several;
  CUgraphNode first = nullptr, second = nullptr;
  OK(cuGraphAddBatchMemOpNode(&first, graph, nullptr, 0, &parameters));
  CUgraphNodeParams any{};
  any.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP;
  any.memOp = parameters;
  several[0] = writing(x + 4, 2);
  any.memOp.count = 1;
  OK(cuGraphAddNode(&second, graph, &first, 1, &any));
  CUgraphNodeType type{};
  OK(cuGraphNodeGetType(first, &type));
  EQUAL(CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, type);
  CUDA_BATCH_MEM_OP_NODE_PARAMS got{};
  OK(cuGraphBatchMemOpNodeGetParams(first, &got));
  EQUAL(2u, got.count);
  CHECK(got.paramArray[0].writeValue.address == x && got.paramArray[1].waitValue.value == 1);
  several[0] = writing(x, 3);
  several[1] = waiting(x, 3);
  OK(cuGraphBatchMemOpNodeSetParams(first, &parameters));
  CUgraphExec exec = nullptr;
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  CHECK(read_ints(x, 2) == std::vector<int>{3, 2});
  several[0] = writing(x, 4);
  several[1] = waiting(x, 4);
  OK(cuGraphExecBatchMemOpNodeSetParams(exec, first, &parameters));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EQUAL(4, read_ints(x, 1)[0]);
  FAILS(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode(&first, graph, nullptr, 0, nullptr));

  CUgraph captured = nullptr;
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuStreamWriteValue32_v2(stream, x + 12, 8, 0));
  OK(cuStreamEndCapture(stream, &captured));
  EQUAL(0, read_ints(x, 4)[3]);
  OK(cuGraphInstantiateWithFlags(&exec, captured, 0));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EQUAL(8, read_ints(x, 4)[3]);
}

void refused() {
  const CUstream stream = new_stream();
  const CUdeviceptr x = zeros(4);
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32_v2(stream, x, 0, CU_STREAM_WAIT_VALUE_FLUSH));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2(stream, x, 0, 64));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2(stream, x + 2, 0, CU_STREAM_WAIT_VALUE_EQ));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue64_v2(stream, x + 4, 0, CU_STREAM_WAIT_VALUE_EQ));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_v2(stream, 0, 0, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64_v2(stream, x + 4, 0, 0));
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuStreamWriteValue32(stream, x, 0, 0));
  FAILS(CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32(stream, x, 0, CU_STREAM_WAIT_VALUE_EQ));
  int value = 0;
  OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0));
  EQUAL(1, value);
  OK(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0));
  EQUAL(1, value);
}

// A GPU would wait for ever.
void in_vain() {
  begin();
  const CUstream stream = new_stream();
  const CUdeviceptr x = zeros(1);
  const std::string said = stderr_of([&] {
    OK(cuStreamWaitValue32_v2(stream, x, 1, CU_STREAM_WAIT_VALUE_GEQ));
    FAILS(CUDA_ERROR_LAUNCH_TIMEOUT, cuStreamSynchronize(stream));
  });
  CHECK(said.find("a stream waits for a value at") != said.npos && said.find("for 0.2 s") != said.npos);
  FAILS(CUDA_ERROR_LAUNCH_TIMEOUT, cuMemFree_v2(x));
}

} // namespace

int main(int argc, char** argv) {
  if (argc > 1) {
    in_vain();
    return result();
  }
  begin();
  const CUmodule module = load_kernels();
  conditions();
  who_writes(module);
  turns(module);
  batches();
  graphs();
  refused();
  if (on_gpu())
    return result();
  const pid_t child = fork();
  if (child == 0) {
    setenv("LEMMA_PATIENCE", "0.2", 1);
    execl(argv[0], argv[0], "in_vain", nullptr);
    _exit(2);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  EQUAL(0, status);
  return result();
}
