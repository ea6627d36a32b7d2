// cublasLt's handles, versions and logs. A handle holds nothing: calls say everything.
#include "cublas/lt_api.h"
#include "cublas/lt_routines.h"
#include "cublas/version.h"

struct cublasLtContext {};

namespace lemma::cublas::routines {

cublasStatus_t lt_create(cublasLtHandle_t* handle) {
  require(handle != nullptr);
  const Driver* with = driver();
  require(with && ensure_context(*with) == CUDA_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED);
  *handle = new cublasLtContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t lt_destroy(cublasLtHandle_t handle) {
  require(handle != nullptr, CUBLAS_STATUS_NOT_INITIALIZED);
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t lt_get_property(libraryPropertyType type, int* value) {
  return property(type, value);
}

// Nothing is searched, and nothing kept.
cublasStatus_t lt_get_cache_capacity(size_t* capacity) {
  require(capacity != nullptr);
  *capacity = 0;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t lt_ignore(...) {
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace lemma::cublas::routines

const char* cublasLtGetStatusName(cublasStatus_t status) {
  return lemma::cublas::name_of(status);
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return lemma::cublas::text_of(status);
}
size_t cublasLtGetVersion() {
  return lemma::cublas::kVersion;
}
size_t cublasLtGetCudartVersion() {
  return lemma::cublas::kCudartVersion;
}
