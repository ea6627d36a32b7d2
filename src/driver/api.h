// The CUDA driver API as programs see it: every symbol of entry_points.def, declared, and the constants that
// cuda.h has as macros. Programs in tests/driver are compiled against this where there is no toolkit; a
// symbol is called by its own name (cuMemAlloc_v2), as cuda.h's macros do it behind the scenes.
//
// Functions take and give what "CUDA Driver API" 13.0 says; what Lemma's do differently: docs/driver.md.
#pragma once

#include "types.h"

inline const CUstream CU_STREAM_LEGACY = reinterpret_cast<CUstream>(1);
inline const CUstream CU_STREAM_PER_THREAD = reinterpret_cast<CUstream>(2);
inline void* const CU_LAUNCH_PARAM_END = nullptr;
inline void* const CU_LAUNCH_PARAM_BUFFER_POINTER = reinterpret_cast<void*>(1);
inline void* const CU_LAUNCH_PARAM_BUFFER_SIZE = reinterpret_cast<void*>(2);
inline constexpr CUdevice CU_DEVICE_CPU = -1;
inline constexpr CUdevice CU_DEVICE_INVALID = -2;
inline constexpr unsigned CU_MEMHOSTALLOC_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTALLOC_DEVICEMAP = 2;
inline constexpr unsigned CU_MEMHOSTALLOC_WRITECOMBINED = 4;
inline constexpr unsigned CU_MEMHOSTREGISTER_PORTABLE = 1;
inline constexpr unsigned CU_MEMHOSTREGISTER_DEVICEMAP = 2;
inline constexpr unsigned CU_MEMHOSTREGISTER_IOMEMORY = 4;
inline constexpr unsigned CU_MEMHOSTREGISTER_READ_ONLY = 8;
inline constexpr unsigned CUDA_ARRAY3D_LAYERED = 0x01;
inline constexpr unsigned CUDA_ARRAY3D_SURFACE_LDST = 0x02;
inline constexpr unsigned CUDA_ARRAY3D_CUBEMAP = 0x04;
inline constexpr unsigned CUDA_ARRAY3D_TEXTURE_GATHER = 0x08;
inline constexpr unsigned CU_TRSF_READ_AS_INTEGER = 0x01;
inline constexpr unsigned CU_TRSF_NORMALIZED_COORDINATES = 0x02;
inline constexpr unsigned CU_TRSF_SRGB = 0x10;
inline constexpr unsigned CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION = 0x20;
inline constexpr unsigned CU_TRSF_SEAMLESS_CUBEMAP = 0x40;

// Visible, and not to be bound to another library's symbol of the name.
#define LEMMA_DRIVER_DECLARE(symbol, parameters)                                                             \
  extern "C" __attribute__((visibility("default"))) CUresult symbol parameters;
#define IMPLEMENTED(name, version, symbol, parameters) LEMMA_DRIVER_DECLARE(symbol, parameters)
#define REFUSED(name, version, symbol, parameters, error) LEMMA_DRIVER_DECLARE(symbol, parameters)
#define PER_THREAD(name, version, variant, symbol, parameters, arguments, base)                              \
  LEMMA_DRIVER_DECLARE(symbol, parameters)
#include "entry_points.def"
#undef IMPLEMENTED
#undef REFUSED
#undef PER_THREAD
#undef LEMMA_DRIVER_DECLARE

// The device's memory for a CUlemmaWork: `count` rows of `row_bytes`, `pitch_bytes` apart on the device, and
// one behind the other on the host. What lies between them is left alone. CUDA_ERROR_ILLEGAL_ADDRESS: that is
// not the device's memory; the context has failed and a line has said so, and the work returns.
struct CUlemmaMemory {
  CUresult (*read)(const CUlemmaMemory* memory, void* to, CUdeviceptr from, size_t row_bytes, size_t count,
                   size_t pitch_bytes);
  CUresult (*write)(const CUlemmaMemory* memory, CUdeviceptr to, const void* from, size_t row_bytes,
                    size_t count, size_t pitch_bytes);
};
// What a library beside this one computes on the host as a kernel would on the device.
struct CUlemmaWork {
  const char* name; // of messages; stays
  CUresult (*run)(const void* data,
                  const CUlemmaMemory* memory); // calls no CUDA; in a graph, as often as it is launched
  void (*release)(void* data);                  // when nothing runs it any more
  void* data;
};

// What nothing but this library exports.
extern "C" {
// Tells it from NVIDIA's: Lemma's version, as text.
__attribute__((visibility("default"))) const char* cuLemmaVersion();
// For libnvidia-ml.so.1 (src/nvml), which answers without cuInit, after which a process may not fork. Calls
// ask(argument), and what that asks about device 0 - name, UUID, PCI bus, sizes, attributes - is answered.
// CUDA_ERROR_NO_DEVICE, and a line on standard error: the variables of the environment describe no GPU.
__attribute__((visibility("default"))) CUresult cuLemmaAsk(void (*ask)(void*), void* argument);
// For it, too: how many bytes of device memory this process has allocated, and whether one of its streams has
// work. 0 before cuInit. Waits for nothing, and disturbs no capture.
__attribute__((visibility("default"))) void cuLemmaUse(size_t* bytes, int* is_busy);
// For libcublas.so.13 and libcublasLt.so.13 (src/cublas): work in the order of a stream, which may capture
// it; its data is released also where this is an error. Errors: as cuLaunchHostFunc.
__attribute__((visibility("default"))) CUresult cuLemmaCompute(CUstream stream, const CUlemmaWork* work);
// For liblemma_preload.so (tools/preload), before cuInit too. What a link made a cubin of - `count` PTX
// texts, cubins, fatbins, objects, libraries - has PTX: the cubin with that attached (image/attached.h), in
// memory of malloc's. CUDA_ERROR_NOT_FOUND: they have none, or something else, LTO IR, which PTX of the
// others lacks. CUDA_ERROR_INVALID_IMAGE: it is no cubin.
__attribute__((visibility("default"))) CUresult cuLemmaKeepPtx(const void* cubin, size_t bytes,
                                                               unsigned count, const void* const* inputs,
                                                               const size_t* input_bytes, void** kept,
                                                               size_t* kept_bytes);
}
