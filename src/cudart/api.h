// The CUDA runtime API as programs see it: every function of functions.def that headers declare, and the
// constants that the toolkit has as macros. Programs in tests/cudart are compiled against this where there is
// no toolkit.
//
// Functions take and give what "CUDA Runtime API" 13.0 says; what Lemma's do differently: docs/cudart.md.
#pragma once

#include "types.h"

inline const cudaStream_t cudaStreamLegacy = reinterpret_cast<cudaStream_t>(1);
inline const cudaStream_t cudaStreamPerThread = reinterpret_cast<cudaStream_t>(2);
inline constexpr unsigned cudaStreamDefault = 0, cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDefault = 0, cudaEventBlockingSync = 1, cudaEventDisableTiming = 2,
                          cudaEventInterprocess = 4;
inline constexpr unsigned cudaHostAllocDefault = 0, cudaHostAllocPortable = 1, cudaHostAllocMapped = 2,
                          cudaHostAllocWriteCombined = 4;
inline constexpr unsigned cudaHostRegisterDefault = 0, cudaHostRegisterPortable = 1,
                          cudaHostRegisterMapped = 2, cudaHostRegisterIoMemory = 4,
                          cudaHostRegisterReadOnly = 8;
inline constexpr unsigned cudaMemAttachGlobal = 1, cudaMemAttachHost = 2, cudaMemAttachSingle = 4;
inline constexpr unsigned cudaDeviceScheduleAuto = 0, cudaDeviceScheduleSpin = 1, cudaDeviceScheduleYield = 2,
                          cudaDeviceScheduleBlockingSync = 4, cudaDeviceMapHost = 8;
inline constexpr unsigned cudaInitDeviceFlagsAreValid = 1;
inline constexpr unsigned cudaOccupancyDefault = 0, cudaOccupancyDisableCachingOverride = 1;
inline constexpr int cudaCpuDeviceId = -1, cudaInvalidDeviceId = -2;

// Visible, and not to be bound to another library's symbol of the name.
#define LEMMA_CUDART_DECLARE(result, symbol, parameters)                                                     \
  extern "C" __attribute__((visibility("default"))) result symbol parameters;
#define IMPLEMENTED(result, symbol, parameters) LEMMA_CUDART_DECLARE(result, symbol, parameters)
#define REFUSED(result, symbol, parameters) LEMMA_CUDART_DECLARE(result, symbol, parameters)
#define PER_THREAD(result, symbol, parameters, arguments, base)                                              \
  LEMMA_CUDART_DECLARE(result, symbol, parameters)
#define UNDECLARED(symbol) LEMMA_CUDART_DECLARE(cudaError_t, symbol, ())
#include "functions.def"
#undef IMPLEMENTED
#undef REFUSED
#undef PER_THREAD
#undef UNDECLARED
#undef LEMMA_CUDART_DECLARE
