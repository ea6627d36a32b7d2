// The library and its handles: how calls are made, versions, texts; and copies between host and device.
#include "cublas/api.h"
#include "cublas/call.h"
#include "cublas/routines.h"
#include "cublas/version.h"

#include <algorithm>

namespace lemma::cublas {

const char* name_of(cublasStatus_t status) {
  switch (status) {
#define STATUS(name, number, text)                                                                           \
  case CUBLAS_STATUS_##name:                                                                                 \
    return "CUBLAS_STATUS_" #name;
#include "cublas/statuses.def"
#undef STATUS
  }
  return "unknown";
}

const char* text_of(cublasStatus_t status) {
  switch (status) {
#define STATUS(name, number, text)                                                                           \
  case CUBLAS_STATUS_##name:                                                                                 \
    return text;
#include "cublas/statuses.def"
#undef STATUS
  }
  return "unknown status";
}

cublasStatus_t property(libraryPropertyType type, int* value) {
  require(value != nullptr);
  switch (type) {
  case MAJOR_VERSION:
    *value = kMajor;
    return CUBLAS_STATUS_SUCCESS;
  case MINOR_VERSION:
    *value = kMinor;
    return CUBLAS_STATUS_SUCCESS;
  case PATCH_LEVEL:
    *value = kPatch;
    return CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_INVALID_VALUE;
}

namespace routines {
namespace {

// Host functions of logs: kept, and nothing is logged.
std::atomic<cublasLogCallback> log_callback{nullptr};

template <class T>
cublasStatus_t give(T* to, T value) {
  require(to != nullptr);
  *to = value;
  return CUBLAS_STATUS_SUCCESS;
}

} // namespace

cublasStatus_t create(cublasHandle_t* handle) {
  require(handle != nullptr);
  const Driver* with = driver();
  require(with && ensure_context(*with) == CUDA_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED);
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t destroy(cublasHandle_t handle) {
  delete &checked(handle);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t get_version(cublasHandle_t, int* version) {
  return give(version, kVersion);
}
cublasStatus_t get_property(libraryPropertyType type, int* value) {
  return property(type, value);
}
cublasStatus_t set_workspace(cublasHandle_t handle, void* workspace, size_t bytes) {
  checked(handle);
  constexpr uintptr_t kAlignment = 256; // "cuBLAS Library"
  require(workspace != nullptr || bytes == 0);
  require(reinterpret_cast<uintptr_t>(workspace) % kAlignment == 0);
  return CUBLAS_STATUS_SUCCESS; // none is needed
}
cublasStatus_t set_stream(cublasHandle_t handle, cudaStream_t stream) {
  checked(handle).stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t get_stream(cublasHandle_t handle, cudaStream_t* stream) {
  return give(stream, checked(handle).stream);
}
cublasStatus_t set_pointer_mode(cublasHandle_t handle, cublasPointerMode_t mode) {
  require(mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE);
  checked(handle).pointer_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t get_pointer_mode(cublasHandle_t handle, cublasPointerMode_t* mode) {
  return give(mode, checked(handle).pointer_mode);
}
cublasStatus_t set_atomics_mode(cublasHandle_t handle, cublasAtomicsMode_t mode) {
  require(mode == CUBLAS_ATOMICS_NOT_ALLOWED || mode == CUBLAS_ATOMICS_ALLOWED);
  checked(handle).atomics_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t get_atomics_mode(cublasHandle_t handle, cublasAtomicsMode_t* mode) {
  return give(mode, checked(handle).atomics_mode);
}
cublasStatus_t set_math_mode(cublasHandle_t handle, int mode) {
  constexpr int kKnown[] = {0, 1, 2, 3, 4, 8}; // cublasMath_t, without the flag
  require(std::find(std::begin(kKnown), std::end(kKnown),
                    mode & ~int{CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION}) != std::end(kKnown));
  checked(handle).math_mode = mode;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t get_math_mode(cublasHandle_t handle, cublasMath_t* mode) {
  return give(mode, static_cast<cublasMath_t>(checked(handle).math_mode));
}
cublasStatus_t set_sm_count_target(cublasHandle_t handle, int count) {
  require(count >= 0);
  checked(handle).sm_count_target = count;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t get_sm_count_target(cublasHandle_t handle, int* count) {
  return give(count, checked(handle).sm_count_target);
}
cublasStatus_t configure_logger(int, int, int, const char*) {
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t set_logger_callback(cublasLogCallback callback) {
  log_callback = callback;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t get_logger_callback(cublasLogCallback* callback) {
  return give(callback, log_callback.load());
}

namespace {

// Rows of bytes between the host and the device, in the order of the stream.
cublasStatus_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width,
                         size_t height, CUstream stream, bool waits) {
  const Driver* with = driver();
  require(with && ensure_context(*with) == CUDA_SUCCESS, CUBLAS_STATUS_NOT_INITIALIZED);
  if (width == 0 || height == 0)
    return CUBLAS_STATUS_SUCCESS;
  CUDA_MEMCPY2D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  copy.srcDevice = address_of(from);
  copy.srcPitch = from_pitch;
  copy.dstDevice = address_of(to);
  copy.dstPitch = to_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  require(with->cuMemcpy2DAsync_v2(&copy, stream) == CUDA_SUCCESS, CUBLAS_STATUS_MAPPING_ERROR);
  return waits ? wait_for(stream) : CUBLAS_STATUS_SUCCESS;
}

} // namespace

cublasStatus_t copy_vector(int64_t n, int64_t element_bytes, const void* from, int64_t incx, void* to,
                           int64_t incy, cudaStream_t stream, bool waits) {
  require(element_bytes > 0 && incx > 0 && incy > 0);
  const auto width = static_cast<size_t>(element_bytes), count = static_cast<size_t>(std::max<int64_t>(n, 0));
  if (incx == 1 && incy == 1)
    return copy_rows(to, width * count, from, width * count, width * count, 1, stream, waits);
  return copy_rows(to, width * static_cast<size_t>(incy), from, width * static_cast<size_t>(incx), width,
                   count, stream, waits);
}
cublasStatus_t copy_matrix(int64_t rows, int64_t columns, int64_t element_bytes, const void* from,
                           int64_t lda, void* to, int64_t ldb, cudaStream_t stream, bool waits) {
  require(rows >= 0 && columns >= 0 && element_bytes > 0 && lda >= std::max<int64_t>(rows, 1) &&
          ldb >= std::max<int64_t>(rows, 1));
  const auto width = static_cast<size_t>(element_bytes);
  return copy_rows(to, width * static_cast<size_t>(ldb), from, width * static_cast<size_t>(lda),
                   width * static_cast<size_t>(rows), static_cast<size_t>(columns), stream, waits);
}

} // namespace routines
} // namespace lemma::cublas

const char* cublasGetStatusName(cublasStatus_t status) {
  return lemma::cublas::name_of(status);
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return lemma::cublas::text_of(status);
}
size_t cublasGetCudartVersion() {
  return lemma::cublas::kCudartVersion;
}
