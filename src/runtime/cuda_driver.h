// The part of the CUDA driver API that Lemma calls, declared here so that no toolkit is needed to build, and
// found in libcuda.so.1 at run time.
//
// Declarations follow "CUDA Driver API" (cuda.h, CUDA 13.0); the symbols are those that cuda.h's macros name
// (cuMemAlloc is cuMemAlloc_v2), which drivers since CUDA 12.0 export and keep.
// tests/unit/runtime/cuda_abi_test.cc compares every number, layout and signature with cuda.h where a toolkit
// is installed.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace lemma::runtime::cuda {

using Status = int;                 // CUresult
using DeviceHandle = int;           // CUdevice
using Pointer = unsigned long long; // CUdeviceptr
using Context = struct CUctx_st*;
using ModuleHandle = struct CUmod_st*;
using Function = struct CUfunc_st*;
using Stream = struct CUstream_st*;
using Event = struct CUevent_st*;

inline constexpr Status kSuccess = 0;
inline constexpr Status kInvalidValue = 1;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNoBinaryForGpu = 209;
inline constexpr Status kInvalidPtx = 218;
inline constexpr Status kUnsupportedPtxVersion = 222;
inline constexpr Status kIllegalAddress = 700;
inline constexpr Status kLaunchOutOfResources = 701;
inline constexpr Status kLaunchTimeout = 702;
inline constexpr Status kAssert = 710;
inline constexpr Status kHardwareStackError = 714;
inline constexpr Status kIllegalInstruction = 715;
inline constexpr Status kMisalignedAddress = 716;
inline constexpr Status kInvalidAddressSpace = 717;
inline constexpr Status kInvalidPc = 718;
inline constexpr Status kLaunchFailed = 719;
inline constexpr Status kCooperativeLaunchTooLarge = 720;
inline constexpr Status kInvalidClusterSize = 912;

inline constexpr int kAttributeComputeCapabilityMajor = 75; // CUdevice_attribute
inline constexpr int kAttributeComputeCapabilityMinor = 76;

inline constexpr int kFunctionMaxThreads = 0; // CUfunction_attribute
inline constexpr int kFunctionSharedBytes = 1;
inline constexpr int kFunctionLocalBytes = 3;
inline constexpr int kFunctionRegisters = 4;
inline constexpr int kFunctionMaxDynamicSharedBytes = 8;
inline constexpr int kFunctionNonPortableClusterSize = 14;

inline constexpr int kJitErrorLogBuffer = 5; // CUjit_option
inline constexpr int kJitErrorLogBufferBytes = 6;
inline constexpr int kJitOptimizationLevel = 7;

inline constexpr int kLaunchCooperative = 2; // CUlaunchAttributeID
inline constexpr int kLaunchClusterDimension = 4;

inline constexpr unsigned kManagedGlobal = 1;        // CUmemAttach_flags
inline constexpr unsigned kHostRegisterPortable = 1; // CU_MEMHOSTREGISTER_*
inline constexpr unsigned kHostRegisterDeviceMap = 2;

// CUlaunchAttribute
struct LaunchAttribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    uint32_t cluster[3];
    int cooperative;
  } value;
};

// CUlaunchConfig
struct LaunchConfiguration {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  Stream stream;
  LaunchAttribute* attributes;
  unsigned attribute_count;
};

// X(our name, symbol, parameters): one line a function; all return Status.
#define LEMMA_CUDA_FUNCTIONS(X)                                                                              \
  X(init, cuInit, (unsigned flags))                                                                          \
  X(driver_get_version, cuDriverGetVersion, (int* version))                                                  \
  X(get_error_name, cuGetErrorName, (Status status, const char** name))                                      \
  X(get_error_string, cuGetErrorString, (Status status, const char** text))                                  \
  X(device_get_count, cuDeviceGetCount, (int* count))                                                        \
  X(device_get, cuDeviceGet, (DeviceHandle * device, int ordinal))                                           \
  X(device_get_name, cuDeviceGetName, (char* name, int bytes, DeviceHandle device))                          \
  X(device_get_attribute, cuDeviceGetAttribute, (int* value, int attribute, DeviceHandle device))            \
  X(device_get_pci_bus_id, cuDeviceGetPCIBusId, (char* id, int bytes, DeviceHandle device))                  \
  X(primary_context_retain, cuDevicePrimaryCtxRetain, (Context * context, DeviceHandle device))              \
  X(primary_context_release, cuDevicePrimaryCtxRelease_v2, (DeviceHandle device))                            \
  X(primary_context_reset, cuDevicePrimaryCtxReset_v2, (DeviceHandle device))                                \
  X(context_push_current, cuCtxPushCurrent_v2, (Context context))                                            \
  X(context_pop_current, cuCtxPopCurrent_v2, (Context * context))                                            \
  X(context_synchronize, cuCtxSynchronize, ())                                                               \
  X(module_load_data_ex, cuModuleLoadDataEx,                                                                 \
    (ModuleHandle * module, const void* image, unsigned option_count, int* options, void** option_values))   \
  X(module_unload, cuModuleUnload, (ModuleHandle module))                                                    \
  X(module_get_function, cuModuleGetFunction, (Function * function, ModuleHandle module, const char* name))  \
  X(module_get_global, cuModuleGetGlobal_v2,                                                                 \
    (Pointer * address, size_t* bytes, ModuleHandle module, const char* name))                               \
  X(function_get_attribute, cuFuncGetAttribute, (int* value, int attribute, Function function))              \
  X(function_set_attribute, cuFuncSetAttribute, (Function function, int attribute, int value))               \
  X(launch_kernel_ex, cuLaunchKernelEx,                                                                      \
    (const LaunchConfiguration* config, Function function, void** parameters, void** extra))                 \
  X(memory_allocate, cuMemAlloc_v2, (Pointer * address, size_t bytes))                                       \
  X(memory_allocate_managed, cuMemAllocManaged, (Pointer * address, size_t bytes, unsigned flags))           \
  X(memory_free, cuMemFree_v2, (Pointer address))                                                            \
  X(host_register, cuMemHostRegister_v2, (void* memory, size_t bytes, unsigned flags))                       \
  X(host_unregister, cuMemHostUnregister, (void* memory))                                                    \
  X(host_get_device_pointer, cuMemHostGetDevicePointer_v2,                                                   \
    (Pointer * address, void* memory, unsigned flags))                                                       \
  X(copy_to_device, cuMemcpyHtoD_v2, (Pointer destination, const void* source, size_t bytes))                \
  X(copy_from_device, cuMemcpyDtoH_v2, (void* destination, Pointer source, size_t bytes))                    \
  X(copy_on_device, cuMemcpyDtoD_v2, (Pointer destination, Pointer source, size_t bytes))                    \
  X(memory_set, cuMemsetD8_v2, (Pointer destination, unsigned char value, size_t count))                     \
  X(memory_set_async, cuMemsetD8Async,                                                                       \
    (Pointer destination, unsigned char value, size_t count, Stream stream))                                 \
  X(tensor_map_encode_tiled, cuTensorMapEncodeTiled,                                                         \
    (void* map, int type, unsigned rank, void* address, const uint64_t* dims, const uint64_t* strides,       \
     const uint32_t* box, const uint32_t* element_strides, int interleave, int swizzle, int l2_promotion,    \
     int oob_fill))                                                                                          \
  X(tensor_map_encode_im2col, cuTensorMapEncodeIm2col,                                                       \
    (void* map, int type, unsigned rank, void* address, const uint64_t* dims, const uint64_t* strides,       \
     const int* lower, const int* upper, unsigned channels_per_pixel, unsigned pixels_per_column,            \
     const uint32_t* element_strides, int interleave, int swizzle, int l2_promotion, int oob_fill))          \
  X(event_create, cuEventCreate, (Event * event, unsigned flags))                                            \
  X(event_record, cuEventRecord, (Event event, Stream stream))                                               \
  X(event_elapsed_time, cuEventElapsedTime, (float* milliseconds, Event start, Event end))                   \
  X(event_destroy, cuEventDestroy_v2, (Event event))

// "580.159.04" of ".../libcuda.so.580.159.04", as the driver's file is called behind its links; else empty.
std::string release_of(std::string_view file);

class Driver {
public:
  // Opens libcuda.so.1, once a process, and initializes it. Error: unavailable.
  static Result<std::shared_ptr<const Driver>, Error> open();

  // "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"
  std::string describe(Status status) const;
  // The CUDA version, and the driver's own where its file says so: "13.0 (580.159.04)".
  std::string version() const;

#define X(name, symbol, parameters) Status(*name) parameters = nullptr;
  LEMMA_CUDA_FUNCTIONS(X)
#undef X
};

} // namespace lemma::runtime::cuda
