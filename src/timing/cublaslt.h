// The part of cuBLASLt's API that is called, declared here so that no toolkit is needed to build, and found
// in libcublasLt.so at run time. Declarations follow cublasLt.h, cublas_api.h and library_types.h of CUDA 12
// and 13, between which nothing of it has changed.
//
// Tests: tests/unit/timing/; against the headers, where a toolkit is installed:
// tests/unit/timing/cublaslt_abi_test.cc.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace lemma::timing::blas {

using Status = int;                     // cublasStatus_t
using Handle = struct cublasLtContext*; // cublasLtHandle_t
using Description = void*;              // cublasLtMatmulDesc_t
using Layout = void*;                   // cublasLtMatrixLayout_t
using Preference = void*;               // cublasLtMatmulPreference_t
using Stream = void*;                   // cudaStream_t

inline constexpr Status kSuccess = 0;
inline constexpr Status kNotSupported = 15;

enum DataType : int { // cudaDataType_t
  f32 = 0,
  f64 = 1,
  f16 = 2,
  s8 = 3,
  s32 = 10,
  bf16 = 14,
  e4m3 = 28,
  e5m2 = 29,
};

enum Compute : int { // cublasComputeType_t
  compute_32f = 68,
  compute_64f = 70,
  compute_32i = 72,
  compute_32f_fast_tf32 = 77,
};

inline constexpr int kTransposes = 1; // cublasOperation_t; 0: does not

inline constexpr int kDescriptionTransposesA = 3; // cublasLtMatmulDescAttributes_t
inline constexpr int kDescriptionTransposesB = 4;
inline constexpr int kDescriptionFastAccumulation = 25; // int8_t

inline constexpr int kPreferenceMostWorkspaceBytes = 1; // cublasLtMatmulPreferenceAttributes_t

// cublasLtMatmulAlgo_t
struct Algorithm {
  uint64_t data[8];
};

// cublasLtMatmulHeuristicResult_t
struct Heuristic {
  Algorithm algorithm;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

// X(our name, symbol, result, parameters)
#define LEMMA_CUBLASLT_FUNCTIONS(X)                                                                          \
  X(create, cublasLtCreate, Status, (Handle * handle))                                                       \
  X(destroy, cublasLtDestroy, Status, (Handle handle))                                                       \
  X(version, cublasLtGetVersion, size_t, ())                                                                 \
  X(status_string, cublasLtGetStatusString, const char*, (Status status))                                    \
  X(description_create, cublasLtMatmulDescCreate, Status,                                                    \
    (Description * description, Compute compute, DataType scale))                                            \
  X(description_destroy, cublasLtMatmulDescDestroy, Status, (Description description))                       \
  X(description_set, cublasLtMatmulDescSetAttribute, Status,                                                 \
    (Description description, int attribute, const void* value, size_t bytes))                               \
  X(layout_create, cublasLtMatrixLayoutCreate, Status,                                                       \
    (Layout * layout, DataType type, uint64_t rows, uint64_t columns, int64_t leading_dimension))            \
  X(layout_destroy, cublasLtMatrixLayoutDestroy, Status, (Layout layout))                                    \
  X(preference_create, cublasLtMatmulPreferenceCreate, Status, (Preference * preference))                    \
  X(preference_destroy, cublasLtMatmulPreferenceDestroy, Status, (Preference preference))                    \
  X(preference_set, cublasLtMatmulPreferenceSetAttribute, Status,                                            \
    (Preference preference, int attribute, const void* value, size_t bytes))                                 \
  X(heuristics, cublasLtMatmulAlgoGetHeuristic, Status,                                                      \
    (Handle handle, Description description, Layout a, Layout b, Layout c, Layout d, Preference preference,  \
     int wanted, Heuristic* results, int* count))                                                            \
  X(matmul, cublasLtMatmul, Status,                                                                          \
    (Handle handle, Description description, const void* alpha, const void* a, Layout a_layout,              \
     const void* b, Layout b_layout, const void* beta, const void* c, Layout c_layout, void* d,              \
     Layout d_layout, const Algorithm* algorithm, void* workspace, size_t workspace_bytes, Stream stream))

struct Functions {
#define X(name, symbol, result, parameters) result(*name) parameters = nullptr;
  LEMMA_CUBLASLT_FUNCTIONS(X)
#undef X

  // "not supported (15)"
  std::string describe(Status status) const;
};

// Where the library may be, best first: names for the loader, then files.
std::vector<std::string> candidates();

// The functions of the library at `path`, or of the first candidate that can be opened; `found` is which.
// Error: unavailable.
Result<Functions, Error> open(const std::string& path, std::string& found);

} // namespace lemma::timing::blas
