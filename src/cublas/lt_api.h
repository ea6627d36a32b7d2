// cublasLt as programs see it: every function of lt_functions.def.
#pragma once

#include "lt_types.h"

#define LEMMA_CUBLAS_DECLARE(result, symbol, parameters)                                                     \
  extern "C" __attribute__((visibility("default"))) result symbol parameters;
#define PLAIN(symbol, parameters, ...) LEMMA_CUBLAS_DECLARE(cublasStatus_t, symbol, parameters)
#define OTHER(result, symbol, parameters) LEMMA_CUBLAS_DECLARE(result, symbol, parameters)
#define REFUSED(symbol) LEMMA_CUBLAS_DECLARE(cublasStatus_t, symbol, ())
#include "lt_functions.def"
#undef PLAIN
#undef OTHER
#undef REFUSED
#undef LEMMA_CUBLAS_DECLARE
