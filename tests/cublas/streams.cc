// A call is an operation of its stream: it reads numbers of the device's in its turn, is captured in graphs,
// meets the kernels of other streams in the bytes that it uses, and faults as a kernel does.
#include "check.h"

#include "cublas/api.h"

#include <sys/wait.h>

#include <functional>

namespace {

void expect_success(cublasStatus_t status, const char* call, int line) {
  if (status == CUBLAS_STATUS_SUCCESS)
    return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, line, call, cublasGetStatusName(status));
  ++failures;
}
#define BLAS(...) expect_success((__VA_ARGS__), #__VA_ARGS__, __LINE__)

constexpr int kN = 4, kLd = 6; // of square matrices, with gaps of two

CUdeviceptr floats(const std::vector<float>& values) {
  CUdeviceptr address = 0;
  OK(cuMemAlloc_v2(&address, values.size() * sizeof(float)));
  OK(cuMemcpyHtoD_v2(address, values.data(), values.size() * sizeof(float)));
  return address;
}
float* pointer(CUdeviceptr address) {
  return reinterpret_cast<float*>(address);
}
float first_of(CUdeviceptr address) {
  float value = -1;
  OK(cuMemcpyDtoH_v2(&value, address, sizeof value));
  return value;
}

cublasHandle_t handle_of(CUstream stream) {
  cublasHandle_t handle = nullptr;
  BLAS(cublasCreate_v2(&handle));
  BLAS(cublasSetStream_v2(handle, stream));
  return handle;
}

// c = 2 * ones * ones, of matrices that lie kLd apart.
void multiply(cublasHandle_t handle, CUdeviceptr a, CUdeviceptr c) {
  const float two = 2, zero = 0;
  BLAS(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, kN, kN, kN, &two, pointer(a), kLd, pointer(a), kLd,
                      &zero, pointer(c), kLd));
}

// What is said of a product in one stream and a kernel in another that adds to `count` words from word
// `first` on.
std::string said_of(CUfunction add, int first, int count, bool ordered) {
  CUstream a = nullptr, b = nullptr;
  CUevent event = nullptr;
  OK(cuStreamCreate(&a, CU_STREAM_NON_BLOCKING));
  OK(cuStreamCreate(&b, CU_STREAM_NON_BLOCKING));
  OK(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  const cublasHandle_t handle = handle_of(a);
  const CUdeviceptr ones = floats(std::vector<float>(kLd * kN, 1)),
                    c = floats(std::vector<float>(kLd * kN, 0));
  const std::string said = stderr_of([&] {
    multiply(handle, ones, c);
    OK(cuEventRecord(event, a));
    if (ordered)
      OK(cuStreamWaitEvent(b, event, 0));
    OK(launch(add, 1, 32, b, c + static_cast<CUdeviceptr>(first) * 4, 1, count));
    OK(cuCtxSynchronize());
  });
  EQUAL(float{2 * kN}, first_of(c + CUdeviceptr{4 * kLd})); // the second column
  BLAS(cublasDestroy_v2(handle));
  OK(cuMemFree_v2(c));
  OK(cuMemFree_v2(ones));
  OK(cuEventDestroy_v2(event));
  OK(cuStreamDestroy_v2(a));
  OK(cuStreamDestroy_v2(b));
  return said;
}

void check_findings(CUfunction add) {
  const std::string said = said_of(add, 0, 2, false);
  CHECK(said.find("error[stream.race]") != said.npos);
  CHECK(said.find("cublasSgemm_v2") != said.npos);
  CHECK(said.find("8 bytes, both write") != said.npos);
  EQUAL(std::string(), said_of(add, 0, 2, true));
  EQUAL(std::string(), said_of(add, kN, 2, false)); // what lies between two columns
  EQUAL(std::string(), said_of(add, kLd * (kN - 1) + kN, 2, false));
}

// A number that a kernel makes before, in the same stream, and a graph with all of it.
void check_graph(CUfunction add) {
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const cublasHandle_t handle = handle_of(stream);
  BLAS(cublasSetPointerMode_v2(handle, CUBLAS_POINTER_MODE_DEVICE));
  const CUdeviceptr x = floats({3}), zero = floats({0}), alpha = floats({1}), c = floats({0});
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch(add, 1, 1, stream, alpha, 1 << 23, 1)); // twice the number
  BLAS(cublasSgemm_v2(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1, 1, 1, pointer(alpha), pointer(x), 1, pointer(x), 1,
                      pointer(zero), pointer(c), 1));
  BLAS(cublasSaxpy_v2(handle, 1, pointer(alpha), pointer(x), 1, pointer(c), 1));
  OK(cuStreamEndCapture(stream, &graph));
  EQUAL(0.F, first_of(c)); // nothing has run
  size_t nodes = 0;
  OK(cuGraphGetNodes(graph, nullptr, &nodes));
  EQUAL(size_t{3}, nodes);
  OK(cuGraphInstantiateWithFlags(&exec, graph, 0));
  OK(cuGraphDestroy(graph));
  BLAS(cublasDestroy_v2(handle));
  for (const float wanted : {24.F, 48.F, 96.F}) { // alpha * 9 + alpha * 3
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    EQUAL(wanted, first_of(c));
  }
  OK(cuGraphExecDestroy(exec));
  OK(cuStreamDestroy_v2(stream));
}

// A result for the host would have to wait for what is captured.
void check_host_result_in_capture() {
  CUstream stream = nullptr;
  OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  const cublasHandle_t handle = handle_of(stream);
  const CUdeviceptr x = floats({3, 4});
  float length = -1;
  CUgraph graph = nullptr;
  OK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EQUAL(CUBLAS_STATUS_EXECUTION_FAILED, cublasSnrm2_v2(handle, 2, pointer(x), 1, &length));
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  BLAS(cublasSnrm2_v2(handle, 2, pointer(x), 1, &length));
  EQUAL(5.F, length);
  BLAS(cublasDestroy_v2(handle));
  OK(cuStreamDestroy_v2(stream));
}

// Memory that the host sees too, and what lies behind the end of an allocation.
void check_memory() {
  const cublasHandle_t handle = handle_of(nullptr);
  void* pinned = nullptr;
  CUdeviceptr managed = 0;
  OK(cuMemHostAlloc(&pinned, 4096, 0));
  OK(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  static_cast<float*>(pinned)[0] = 3;
  const float two = 2;
  *pointer(managed) = 1;
  BLAS(cublasSaxpy_v2(handle, 1, &two, static_cast<const float*>(pinned), 1, pointer(managed), 1));
  OK(cuCtxSynchronize());
  EQUAL(7.F, *pointer(managed));
  const CUdeviceptr x = floats(std::vector<float>(8, 1));
  const std::string said = stderr_of([&] {
    BLAS(cublasSscal_v2(handle, 9, &two, pointer(x), 1));
    EQUAL(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  });
  CHECK(said.find("cublasSscal_v2 reads 36 bytes at 0x") != said.npos);
  EQUAL(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize()); // it stays
  CHECK(cublasSscal_v2(handle, 1, &two, pointer(x), 1) == CUBLAS_STATUS_EXECUTION_FAILED);
}

// The host's own memory is none of the device's.
void check_host_memory() {
  const cublasHandle_t handle = handle_of(nullptr);
  std::vector<float> host(4, 1);
  const float two = 2;
  const std::string said = stderr_of([&] {
    BLAS(cublasSscal_v2(handle, 4, &two, host.data(), 1));
    EQUAL(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize());
  });
  CHECK(said.find("not, or not all, memory of the device's") != said.npos);
  EQUAL(1.F, host[0]);
}

// More than there is: of memory, and of elements that a number counts.
void check_sizes() {
  const cublasHandle_t handle = handle_of(nullptr);
  const CUdeviceptr x = floats({1});
  const float two = 2;
  BLAS(cublasSgemm_v2_64(handle, CUBLAS_OP_N, CUBLAS_OP_N, int64_t{1} << 40, int64_t{1} << 40, 1, &two,
                         pointer(x), int64_t{1} << 40, pointer(x), 1, &two, pointer(x), int64_t{1} << 40));
  EQUAL(CUDA_ERROR_OUT_OF_MEMORY, cuCtxSynchronize());
}

// In a process of its own, since a fault takes the context.
void apart(const std::function<void()>& check) {
  const pid_t child = fork();
  if (child == 0) {
    failures = 0;
    begin();
    check();
    _exit(failures ? 1 : 0);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  EQUAL(0, status);
}

} // namespace

int main() {
  setenv("LEMMA_CHECK", "1", 1);
  apart(check_memory);
  apart(check_host_memory);
  apart(check_sizes);
  begin();
  const CUfunction add = function(load_kernels(), "add");
  check_findings(add);
  check_graph(add);
  check_host_result_in_capture();
  return result();
}
