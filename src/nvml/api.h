// NVML as programs see it: every function of functions.def. What they take and give is in NVIDIA's "NVML API
// Reference"; what Lemma's do differently: docs/exec.md.
#pragma once

#include "types.h"

// Visible, and not to be bound to another library's symbol of the name.
#define LEMMA_NVML_DECLARE(result, symbol, parameters)                                                       \
  extern "C" __attribute__((visibility("default"))) result symbol parameters;
#define IMPLEMENTED(symbol, parameters) LEMMA_NVML_DECLARE(nvmlReturn_t, symbol, parameters)
#define SAME(symbol, parameters, arguments, base) LEMMA_NVML_DECLARE(nvmlReturn_t, symbol, parameters)
#define REFUSED(symbol) LEMMA_NVML_DECLARE(nvmlReturn_t, symbol, ())
#include "functions.def"
#undef IMPLEMENTED
#undef SAME
#undef REFUSED
LEMMA_NVML_DECLARE(const char*, nvmlErrorString, (nvmlReturn_t error))
#undef LEMMA_NVML_DECLARE
