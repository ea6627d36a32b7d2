// cuBLAS as programs see it: every function of functions.def. What they take and give is in NVIDIA's "cuBLAS
// Library"; what Lemma's do differently: docs/cublas.md.
#pragma once

#include "types.h"

// Visible, and not to be bound to another library's symbol of the name.
#define LEMMA_CUBLAS_DECLARE(result, symbol, parameters)                                                     \
  extern "C" __attribute__((visibility("default"))) result symbol parameters;
#define PLAIN(symbol, parameters, ...) LEMMA_CUBLAS_DECLARE(cublasStatus_t, symbol, parameters)
#define OTHER(result, symbol, parameters) LEMMA_CUBLAS_DECLARE(result, symbol, parameters)
#define REFUSED(symbol) LEMMA_CUBLAS_DECLARE(cublasStatus_t, symbol, ())
#define ROUTINE(symbol, parameters, ...) PLAIN(symbol, parameters)
#define Int int
#include "functions.def"
#undef Int
#undef PLAIN
#undef OTHER
#undef REFUSED
#undef ROUTINE
#define PLAIN(symbol, parameters, ...)
#define OTHER(result, symbol, parameters)
#define REFUSED(symbol)
#define ROUTINE(symbol, parameters, ...) LEMMA_CUBLAS_DECLARE(cublasStatus_t, symbol##_64, parameters)
#define Int int64_t
#include "functions.def"
#undef Int
#undef PLAIN
#undef OTHER
#undef REFUSED
#undef ROUTINE
#undef LEMMA_CUBLAS_DECLARE
