// The types of cublasLt as CUDA 13.0 has them: what lt_functions.def names. Descriptors are opaque to
// programs, which may have them in memory of their own: their sizes are the ABI's, and what is in them is
// lt_descriptors.h's.
//
// Compared with the toolkit's headers, where one is installed, by scripts/cublas_functions.py --check.
#pragma once

#include "types.h"

#include <cstdio>

using cublasLtHandle_t = struct cublasLtContext*; // a cublasHandle_t serves, too

struct cublasLtMatrixLayoutOpaque_t {
  uint64_t data[8];
};
struct cublasLtMatmulDescOpaque_t {
  uint64_t data[32];
};
struct cublasLtMatmulPreferenceOpaque_t {
  uint64_t data[8];
};
struct cublasLtMatrixTransformDescOpaque_t {
  uint64_t data[8];
};
struct cublasLtMatmulAlgo_t {
  uint64_t data[8];
};
using cublasLtMatrixLayout_t = cublasLtMatrixLayoutOpaque_t*;
using cublasLtMatmulDesc_t = cublasLtMatmulDescOpaque_t*;
using cublasLtMatmulPreference_t = cublasLtMatmulPreferenceOpaque_t*;
using cublasLtMatrixTransformDesc_t = cublasLtMatrixTransformDescOpaque_t*;
using cudaDataType_t = cudaDataType;

struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
};

enum cublasLtOrder_t : int { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1 };
enum cublasLtPointerMode_t : int {
  CUBLASLT_POINTER_MODE_HOST = 0,
  CUBLASLT_POINTER_MODE_DEVICE = 1,
  CUBLASLT_POINTER_MODE_DEVICE_VECTOR = 2,
  CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO = 3,
  CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST = 4,
};
enum cublasLtMatmulMatrixScale_t : int {
  CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F = 0,
  CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F = 3,
};
// Bits: what is done to the sums.
enum cublasLtEpilogue_t : unsigned {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_RELU_AUX = 2 | 128,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 2 | 4,
  CUBLASLT_EPILOGUE_RELU_AUX_BIAS = 2 | 128 | 4,
  CUBLASLT_EPILOGUE_DRELU = 8 | 128,
  CUBLASLT_EPILOGUE_DRELU_BGRAD = 8 | 128 | 16,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_AUX = 32 | 128,
  CUBLASLT_EPILOGUE_GELU_BIAS = 32 | 4,
  CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 32 | 128 | 4,
  CUBLASLT_EPILOGUE_DGELU = 64 | 128,
  CUBLASLT_EPILOGUE_DGELU_BGRAD = 64 | 128 | 16,
  CUBLASLT_EPILOGUE_BGRADA = 256,
  CUBLASLT_EPILOGUE_BGRADB = 512,
};

// Attributes: lt_attributes.def.
#define LAYOUT(name, number, field) CUBLASLT_MATRIX_LAYOUT_##name = number,
enum cublasLtMatrixLayoutAttribute_t : int {
#include "lt_attributes.def"
};
#define MATMUL(name, number, field) CUBLASLT_MATMUL_DESC_##name = number,
enum cublasLtMatmulDescAttributes_t : int {
#include "lt_attributes.def"
};
#define PREFERENCE(name, number, field) CUBLASLT_MATMUL_PREF_##name = number,
enum cublasLtMatmulPreferenceAttributes_t : int {
#include "lt_attributes.def"
};
#define TRANSFORM(name, number, field) CUBLASLT_MATRIX_TRANSFORM_DESC_##name = number,
enum cublasLtMatrixTransformDescAttributes_t : int {
#include "lt_attributes.def"
};
#define CONFIG(name, number, field) CUBLASLT_ALGO_CONFIG_##name = number,
enum cublasLtMatmulAlgoConfigAttributes_t : int {
#include "lt_attributes.def"
};

enum cublasLtMatmulAlgoCapAttributes_t : int {};
using cublasLtLoggerCallback_t = void (*)(int level, const char* function, const char* message);
