// Submitting, and what is refused.
#include "cublas/call.h"

#include "cublas/operand.h"
#include "support/verbose.h"

#include <unistd.h>

#include <cstdio>

namespace lemma::cublas {
namespace {

cublasStatus_t status_of(CUresult status) {
  switch (status) {
  case CUDA_SUCCESS:
    return CUBLAS_STATUS_SUCCESS;
  case CUDA_ERROR_OUT_OF_MEMORY:
    return CUBLAS_STATUS_ALLOC_FAILED;
  case CUDA_ERROR_NOT_INITIALIZED:
  case CUDA_ERROR_INVALID_CONTEXT:
    return CUBLAS_STATUS_NOT_INITIALIZED;
  default:
    return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

} // namespace

thread_local const char* Named::symbol_ = "cuBLAS";

cublasStatus_t refuse(const char* symbol) {
  if (is_verbose())
    std::fprintf(stderr, "lemma: %s is not implemented (docs/cublas.md)\n", symbol);
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t submit(CUstream stream, CUlemmaWork work) {
  const Driver* with = driver();
  if (with && ensure_context(*with) == CUDA_SUCCESS)
    return status_of(with->cuLemmaCompute(stream, &work));
  work.release(work.data);
  return CUBLAS_STATUS_NOT_INITIALIZED;
}

size_t checked_count(int64_t rows, int64_t columns, size_t element_bytes) {
  static const auto most =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 2;
  if (static_cast<double>(rows) * static_cast<double>(columns) * static_cast<double>(element_bytes) > most)
    throw std::bad_alloc();
  return static_cast<size_t>(rows) * static_cast<size_t>(columns);
}

cublasStatus_t wait_for(CUstream stream) {
  return status_of(driver()->cuStreamSynchronize(stream));
}

} // namespace lemma::cublas
