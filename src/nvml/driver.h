// What NVML knows of the device, it asks of the driver, libcuda.so.1 beside this library: without cuInit,
// since programs call NVML to look at a GPU in a process that forks afterwards.
//
// Tests: tests/nvml.
#pragma once

#include "driver/api.h"
#include "nvml/types.h"

namespace lemma::nvml {

// The driver's functions that are asked.
struct Driver {
#define LEMMA_NVML_ASKED(function)                                                                           \
  function(cuDriverGetVersion) function(cuDeviceGetCount) function(cuDeviceGetName)                          \
      function(cuDeviceGetUuid_v2) function(cuDeviceGetByPCIBusId) function(cuDeviceTotalMem_v2)             \
          function(cuDeviceGetAttribute) function(cuLemmaAsk) function(cuLemmaUse)
#define FUNCTION(symbol) decltype(&::symbol) symbol = nullptr;
  LEMMA_NVML_ASKED(FUNCTION)
#undef FUNCTION
};

// Null: there is none beside this library. It stays loaded.
const Driver* driver();

// How many nvmlInit calls no nvmlShutdown has followed yet.
bool is_initialized();

} // namespace lemma::nvml
