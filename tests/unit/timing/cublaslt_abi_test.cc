// src/timing/cublaslt.h against cublasLt.h, where a CUDA toolkit is installed: numbers and layouts by the
// compiler. The test says whether that happened.
#include "timing/cublaslt.h"

#include <gtest/gtest.h>

#ifdef LEMMA_HAVE_CUBLASLT_H
#include <cublasLt.h>

#include <cstddef>

namespace lemma::timing::blas {
namespace {

static_assert(kSuccess == CUBLAS_STATUS_SUCCESS && kNotSupported == CUBLAS_STATUS_NOT_SUPPORTED);
static_assert(int{f32} == CUDA_R_32F && int{f64} == CUDA_R_64F && int{f16} == CUDA_R_16F &&
              int{s8} == CUDA_R_8I && int{s32} == CUDA_R_32I && int{bf16} == CUDA_R_16BF &&
              int{e4m3} == CUDA_R_8F_E4M3 && int{e5m2} == CUDA_R_8F_E5M2);
static_assert(int{compute_32f} == CUBLAS_COMPUTE_32F && int{compute_64f} == CUBLAS_COMPUTE_64F &&
              int{compute_32i} == CUBLAS_COMPUTE_32I &&
              int{compute_32f_fast_tf32} == CUBLAS_COMPUTE_32F_FAST_TF32);
static_assert(kTransposes == CUBLAS_OP_T && kDescriptionTransposesA == CUBLASLT_MATMUL_DESC_TRANSA &&
              kDescriptionTransposesB == CUBLASLT_MATMUL_DESC_TRANSB &&
              kDescriptionFastAccumulation == CUBLASLT_MATMUL_DESC_FAST_ACCUM &&
              kPreferenceMostWorkspaceBytes == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
static_assert(sizeof(Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t) &&
              offsetof(Heuristic, workspace_bytes) ==
                  offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize) &&
              offsetof(Heuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));

TEST(CublasLtAbi, AgreesWithTheToolkit) {
  EXPECT_GE(CUBLAS_VER_MAJOR, 12);
}

} // namespace
} // namespace lemma::timing::blas
#else
TEST(CublasLtAbi, AgreesWithTheToolkit) {
  GTEST_SKIP() << "no cublasLt.h on this machine: the declarations of cuBLAS's API were not compared";
}
#endif
