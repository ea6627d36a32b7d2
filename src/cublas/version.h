// Which cuBLAS this is: that of CUDA 13.0's toolkit.
//
// Tests: tests/cublas.
#pragma once

#include "cublas/types.h"

namespace lemma::cublas {

inline constexpr int kMajor = 13, kMinor = 1, kPatch = 0;
inline constexpr int kVersion = kMajor * 10000 + kMinor * 100 + kPatch;
inline constexpr size_t kCudartVersion = 13000;

const char* name_of(cublasStatus_t status); // "CUBLAS_STATUS_SUCCESS"
const char* text_of(cublasStatus_t status);
cublasStatus_t property(libraryPropertyType type, int* value);

} // namespace lemma::cublas
