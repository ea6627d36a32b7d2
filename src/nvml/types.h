// The types of NVML as CUDA 13.0 has them: what functions.def names. Layouts are the ABI's and the names are
// the API's. Numbers that only pass through - kinds of clocks, of links - are plain integers here, as wide as
// NVML's enumerations.
//
// Compared with nvidia-ml-py's, where that is installed, by tests/nvml/nvml_test.py.
#pragma once

using nvmlDevice_t = struct nvmlDevice_st*;

enum nvmlReturn_t : unsigned {
#define ERROR(name, number, text) NVML_##name = number,
#include "errors.def"
#undef ERROR
};

inline constexpr unsigned NVML_CLOCK_GRAPHICS = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2;
inline constexpr unsigned NVML_BRAND_UNKNOWN = 0;
inline constexpr unsigned NVML_FEATURE_DISABLED = 0;
inline constexpr unsigned NVML_TOPOLOGY_INTERNAL = 0;
inline constexpr unsigned NVML_MIG_DISABLED = 0;
// nvmlDeviceArchitecture_t
inline constexpr unsigned NVML_DEVICE_ARCH_VOLTA = 5, NVML_DEVICE_ARCH_TURING = 6,
                          NVML_DEVICE_ARCH_AMPERE = 7, NVML_DEVICE_ARCH_ADA = 8, NVML_DEVICE_ARCH_HOPPER = 9,
                          NVML_DEVICE_ARCH_BLACKWELL = 10, NVML_DEVICE_ARCH_RUBIN = 13,
                          NVML_DEVICE_ARCH_UNKNOWN = 0xffffffff;

// Since version 3 of nvmlDeviceGetPciInfo; those before it end with pciSubSystemId and four words that mean
// nothing.
struct nvmlPciInfo_t {
  char busIdLegacy[16];
  unsigned domain, bus, device;
  unsigned pciDeviceId, pciSubSystemId;
  char busId[32];
};

struct nvmlUtilization_t { // percent
  unsigned gpu, memory;
};

struct nvmlMemory_t { // bytes
  unsigned long long total, free, used;
};

struct nvmlMemory_v2_t {
  unsigned version; // sizeof, and 2 in the highest byte
  unsigned long long total, reserved, free, used;
};
