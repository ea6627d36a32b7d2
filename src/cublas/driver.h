// The driver, libcuda.so.1 beside this library, and what cuBLAS asks of it: a context, and that work is done
// in the order of a stream.
//
// Tests: tests/cublas.
#pragma once

#include "driver/api.h"

namespace lemma::cublas {

// The driver's functions that are called.
struct Driver {
#define LEMMA_CUBLAS_CALLED(function)                                                                        \
  function(cuInit) function(cuCtxGetCurrent) function(cuCtxSetCurrent) function(cuDevicePrimaryCtxRetain)    \
      function(cuStreamSynchronize) function(cuMemcpy2DAsync_v2) function(cuStreamIsCapturing)               \
          function(cuMemAlloc_v2) function(cuMemFree_v2) function(cuLemmaCompute)
#define FUNCTION(symbol) decltype(&::symbol) symbol = nullptr;
  LEMMA_CUBLAS_CALLED(FUNCTION)
#undef FUNCTION
};

// Null: there is none beside this library, or it finds no GPU; a line on standard error has said so.
const Driver* driver();

// With the primary context made current if this thread has no context. CUDA_SUCCESS, or why not.
CUresult ensure_context(const Driver& driver);

} // namespace lemma::cublas
