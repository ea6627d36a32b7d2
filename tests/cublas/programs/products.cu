// A program as nvcc makes it of NVIDIA's headers: kernels and products in turn in one stream, then as a
// graph.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include <cstdio>
#include <cstdlib>

#define OK(call)                                                                                             \
  if (const auto status = (call); status != 0) {                                                             \
    std::printf("%d: %s: %d\n", __LINE__, #call, static_cast<int>(status));                                  \
    std::exit(1);                                                                                            \
  }

constexpr int kN = 48;

__global__ void fill(float* a, __half* b, float start) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  a[i] = start + i % 7;
  b[i] = __float2half(i % 5 - 2.f);
}

// Column j of c is that of the product of all rows.
__global__ void compare(const float* a, const __half* b, const float* c, int* wrong) {
  const int i = threadIdx.x, j = blockIdx.x;
  float sum = 0;
  for (int k = 0; k < kN; ++k)
    sum += __half2float(__float2half(a[k * kN + i])) * __half2float(b[j * kN + k]);
  if (sum != c[j * kN + i])
    atomicAdd(wrong, 1);
}

__global__ void narrow(const float* a, __half* to) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = __float2half(a[i]);
}

int main() {
  float *a, *c;
  __half *half_a, *b;
  int* wrong;
  OK(cudaMalloc(&a, sizeof(float) * kN * kN));
  OK(cudaMalloc(&c, sizeof(float) * kN * kN));
  OK(cudaMalloc(&half_a, sizeof(__half) * kN * kN));
  OK(cudaMalloc(&b, sizeof(__half) * kN * kN));
  OK(cudaMallocManaged(&wrong, sizeof(int)));
  *wrong = 0;
  cudaStream_t stream;
  OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cublasHandle_t handle;
  OK(cublasCreate(&handle));
  OK(cublasSetStream(handle, stream));
  const float one = 1, zero = 0;
  const auto work = [&] {
    fill<<<kN, kN, 0, stream>>>(a, b, 1);
    narrow<<<kN, kN, 0, stream>>>(a, half_a);
    OK(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, kN, kN, kN, &one, half_a, CUDA_R_16F, kN, b, CUDA_R_16F,
                    kN, &zero, c, CUDA_R_32F, kN, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    compare<<<kN, kN, 0, stream>>>(a, b, c, wrong);
  };
  work();
  OK(cudaStreamSynchronize(stream));
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  work();
  OK(cudaStreamEndCapture(stream, &graph));
  OK(cudaGraphInstantiate(&exec, graph, 0));
  OK(cudaMemset(c, 0, sizeof(float) * kN * kN));
  for (int i = 0; i < 2; ++i)
    OK(cudaGraphLaunch(exec, stream));
  OK(cudaStreamSynchronize(stream));

  // The same by cublasLt, with its inline functions.
  cublasLtMatmulDescOpaque_t how;
  cublasLtMatrixLayoutOpaque_t of_half, of_float;
  OK(cublasLtMatmulDescInit(&how, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  OK(cublasLtMatrixLayoutInit(&of_half, CUDA_R_16F, kN, kN, kN));
  OK(cublasLtMatrixLayoutInit(&of_float, CUDA_R_32F, kN, kN, kN));
  OK(cudaMemset(c, 0, sizeof(float) * kN * kN));
  OK(cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle), &how, &one, half_a, &of_half, b, &of_half,
                    &zero, c, &of_float, c, &of_float, nullptr, nullptr, 0, stream));
  compare<<<kN, kN, 0, stream>>>(a, b, c, wrong);
  float length = 0;
  OK(cublasSnrm2(handle, 2, a + 1, 1, &length)); // 2, 3
  OK(cudaStreamSynchronize(stream));
  OK(cublasDestroy(handle));
  std::printf("%d wrong, length squared %.3f\n", *wrong, length * length);
  std::puts(*wrong == 0 && length * length > 12.999f && length * length < 13.001f ? "ok" : "wrong");
  return *wrong != 0;
}
