// The functions that are stood in front of: NVRTC's one, and those of nvJitLink by all the names that
// toolkits' headers have called so far. nvJitLink.h calls a versioned name, __nvJitLinkCreate_13_0; each
// needs a function of its own, which knows whom to call.
//
// Interfaces: nvrtc.h, nvJitLink.h (CUDA 12.0 to 13.5).
#pragma once

#include "stands.h"

#include <cstdint>

#define EACH_LINK_VERSION(M, name)                                                                           \
  M(name, nvJitLink##name)                                                                                   \
  M(name, __nvJitLink##name##_12_0)                                                                          \
  M(name, __nvJitLink##name##_12_1)                                                                          \
  M(name, __nvJitLink##name##_12_2)                                                                          \
  M(name, __nvJitLink##name##_12_3)                                                                          \
  M(name, __nvJitLink##name##_12_4)                                                                          \
  M(name, __nvJitLink##name##_12_5)                                                                          \
  M(name, __nvJitLink##name##_12_6)                                                                          \
  M(name, __nvJitLink##name##_12_7)                                                                          \
  M(name, __nvJitLink##name##_12_8)                                                                          \
  M(name, __nvJitLink##name##_12_9)                                                                          \
  M(name, __nvJitLink##name##_13_0)                                                                          \
  M(name, __nvJitLink##name##_13_1)                                                                          \
  M(name, __nvJitLink##name##_13_2)                                                                          \
  M(name, __nvJitLink##name##_13_3)                                                                          \
  M(name, __nvJitLink##name##_13_4)                                                                          \
  M(name, __nvJitLink##name##_13_5)

#define EACH_LINK_NAME(M)                                                                                    \
  EACH_LINK_VERSION(M, Create)                                                                               \
  EACH_LINK_VERSION(M, AddData)                                                                              \
  EACH_LINK_VERSION(M, AddFile)                                                                              \
  EACH_LINK_VERSION(M, GetLinkedCubinSize)                                                                   \
  EACH_LINK_VERSION(M, GetLinkedCubin)                                                                       \
  EACH_LINK_VERSION(M, Destroy)

#define PARAMETERS_Create (void** handle, uint32_t count, const char** options)
#define PARAMETERS_AddData (void* handle, int type, const void* data, size_t bytes, const char* name)
#define PARAMETERS_AddFile (void* handle, int type, const char* file)
#define PARAMETERS_GetLinkedCubinSize (void* handle, size_t* bytes)
#define PARAMETERS_GetLinkedCubin (void* handle, void* cubin)
#define PARAMETERS_Destroy (void** handle)

#define DECLARE(name, symbol) EXPORTED int symbol PARAMETERS_##name;
EACH_LINK_NAME(DECLARE)
#undef DECLARE

EXPORTED int nvrtcCompileProgram(void* program, int count, const char* const* options);
