// What the device is doing - memory, work, clocks - and how it is set. Each process has a device of its own,
// so that is what this process does with it.
#include "nvml/api.h"
#include "nvml/call.h"

using namespace lemma::nvml;

namespace {

constexpr unsigned kMemoryVersion2 = sizeof(nvmlMemory_v2_t) | 2U << 24;
constexpr int kKilohertz = 1000; // in a MHz

struct Use {
  size_t total, used;
  bool is_busy;
};

CUresult use_of(const Driver& driver, Use& use) {
  int is_busy = 0;
  driver.cuLemmaUse(&use.used, &is_busy);
  use.is_busy = is_busy != 0;
  const CUresult status = driver.cuDeviceTotalMem_v2(&use.total, 0);
  use.used = std::min(use.used, use.total); // what cuMemGetInfo says
  return status;
}

} // namespace

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t* memory) {
  return of_device(
      device,
      [&](const Driver& driver) {
        Use use{};
        const CUresult status = use_of(driver, use);
        *memory = {.total = use.total, .free = use.total - use.used, .used = use.used};
        return status;
      },
      memory);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return of_device(
      device,
      [&](const Driver& driver) -> nvmlReturn_t {
        if (memory->version != kMemoryVersion2)
          return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
        Use use{};
        const CUresult status = use_of(driver, use);
        *memory = {.version = kMemoryVersion2,
                   .total = use.total,
                   .reserved = 0,
                   .free = use.total - use.used,
                   .used = use.used};
        return error_of(status);
      },
      memory);
}

// No sampling: whether there is work now. Kernels always have to do with memory.
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t* utilization) {
  return of_device(
      device,
      [&](const Driver& driver) {
        Use use{};
        const CUresult status = use_of(driver, use);
        const unsigned percent = use.is_busy ? 100 : 0;
        *utilization = {.gpu = percent, .memory = percent};
        return status;
      },
      utilization);
}

// Those that the driver says: none goes faster or slower, so that they are the current and the default ones,
// too.
nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned clock, unsigned* mhz) {
  switch (clock) {
  case NVML_CLOCK_GRAPHICS:
  case NVML_CLOCK_SM:
    return answer_attribute(device, mhz, CU_DEVICE_ATTRIBUTE_CLOCK_RATE, kKilohertz);
  case NVML_CLOCK_MEM:
    return answer_attribute(device, mhz, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, kKilohertz);
  default: // of video
    return is_initialized() ? NVML_ERROR_NOT_SUPPORTED : NVML_ERROR_UNINITIALIZED;
  }
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t device, unsigned* mode) {
  return answer(device, mode, NVML_FEATURE_DISABLED);
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  const nvmlReturn_t error = answer_attribute(device, current, CU_DEVICE_ATTRIBUTE_ECC_ENABLED);
  return error == NVML_SUCCESS ? answer_attribute(device, pending, CU_DEVICE_ATTRIBUTE_ECC_ENABLED) : error;
}
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned, unsigned, unsigned long long* count) {
  return answer(device, count, 0ULL);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned* current, unsigned* pending) {
  const nvmlReturn_t error = answer(device, current, NVML_MIG_DISABLED);
  return error == NVML_SUCCESS ? answer(device, pending, NVML_MIG_DISABLED) : error;
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned* count) {
  return answer(device, count, 0U);
}
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned* is_one) {
  return answer(device, is_one, 0U);
}

// The driver's numbers are NVML's.
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t device, unsigned* mode) {
  return answer_attribute(device, mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
}

// No other process is on this device, and this one knows of itself.
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned* count, void*) {
  return answer(device, count, 0U);
}
