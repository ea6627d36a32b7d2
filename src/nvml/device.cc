// Which device it is: its handle, its names and numbers, its kind, and that it is the only one.
#include "nvml/api.h"
#include "nvml/call.h"

#include <cstdio>
#include <string>

using namespace lemma::nvml;

namespace {

// "GPU-4c656d6d-6100-0000-0000-000000005a01"
CUresult uuid_text(const Driver& driver, std::string& text) {
  CUuuid uuid{};
  if (const CUresult status = driver.cuDeviceGetUuid_v2(&uuid, 0); status != CUDA_SUCCESS)
    return status;
  text = "GPU";
  for (int i = 0; i < 16; ++i) {
    char byte[4];
    const bool begins_group = i == 0 || (i >= 4 && i <= 10 && i % 2 == 0);
    std::snprintf(byte, sizeof byte, "%s%02x", begins_group ? "-" : "",
                  static_cast<unsigned char>(uuid.bytes[i]));
    text += byte;
  }
  return CUDA_SUCCESS;
}

// Both versions begin alike; the second ends with the id as a text.
CUresult describe_bus(const Driver& driver, nvmlPciInfo_t& info, bool has_long_id) {
  CUresult status = CUDA_SUCCESS;
  const auto ask = [&](unsigned& field, CUdevice_attribute attribute) {
    int value = 0;
    if (status == CUDA_SUCCESS)
      status = driver.cuDeviceGetAttribute(&value, attribute, 0);
    field = static_cast<unsigned>(value);
  };
  ask(info.domain, CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID);
  ask(info.bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID);
  ask(info.device, CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID);
  ask(info.pciDeviceId, CU_DEVICE_ATTRIBUTE_GPU_PCI_DEVICE_ID);
  ask(info.pciSubSystemId, CU_DEVICE_ATTRIBUTE_GPU_PCI_SUBSYSTEM_ID);
  std::snprintf(info.busIdLegacy, sizeof info.busIdLegacy, "%04X:%02X:%02X.0", info.domain & 0xffff,
                info.bus & 0xff, info.device & 0xff);
  if (has_long_id)
    std::snprintf(info.busId, sizeof info.busId, "%08X:%02X:%02X.0", info.domain, info.bus, info.device);
  return status;
}

CUresult capability(const Driver& driver, int& major, int& minor) {
  const CUresult status =
      driver.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0);
  return status == CUDA_SUCCESS
             ? driver.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0)
             : status;
}

// By compute capability, as 90. The lanes are those that add f32: "Arithmetic Instructions" in the CUDA C++
// Programming Guide.
struct Kind {
  int from;
  unsigned architecture, f32_lanes_per_sm;
};
constexpr Kind kKinds[] = {
    {70, NVML_DEVICE_ARCH_VOLTA, 64},       {75, NVML_DEVICE_ARCH_TURING, 64},
    {80, NVML_DEVICE_ARCH_AMPERE, 64},      {86, NVML_DEVICE_ARCH_AMPERE, 128},
    {89, NVML_DEVICE_ARCH_ADA, 128},        {90, NVML_DEVICE_ARCH_HOPPER, 128},
    {100, NVML_DEVICE_ARCH_BLACKWELL, 128}, {107, NVML_DEVICE_ARCH_RUBIN, 128},
    {110, NVML_DEVICE_ARCH_BLACKWELL, 128},
};

CUresult kind_of_device(const Driver& driver, Kind& kind) {
  int major = 0, minor = 0;
  const CUresult status = capability(driver, major, minor);
  kind = {0, NVML_DEVICE_ARCH_UNKNOWN, 0};
  for (const Kind& each : kKinds)
    if (each.from <= major * 10 + minor)
      kind = each;
  return status;
}

// `two`: of two handles, which can only be of one device.
template <class Value>
nvmlReturn_t answer_of_two(nvmlDevice_t device, nvmlDevice_t other, Value* to, Value value) {
  return device == other ? answer(device, to, value) : NVML_ERROR_INVALID_ARGUMENT;
}

} // namespace

nvmlDevice_t lemma::nvml::the_device() {
  static char device;
  return reinterpret_cast<nvmlDevice_t>(&device);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  return initialized([&](const Driver& driver) -> CUresult {
    int devices = 0;
    if (!count)
      return CUDA_ERROR_INVALID_VALUE;
    const CUresult status = driver.cuDeviceGetCount(&devices);
    *count = static_cast<unsigned>(devices);
    return status;
  });
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  return initialized([&](const Driver& driver) -> nvmlReturn_t {
    int devices = 0;
    if (const CUresult status = driver.cuDeviceGetCount(&devices); status != CUDA_SUCCESS)
      return error_of(status);
    if (!device || index >= static_cast<unsigned>(devices))
      return NVML_ERROR_INVALID_ARGUMENT;
    *device = the_device();
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* device) {
  return initialized([&](const Driver& driver) -> nvmlReturn_t {
    if (!uuid || !device)
      return NVML_ERROR_INVALID_ARGUMENT;
    std::string text;
    if (const CUresult status = uuid_text(driver, text); status != CUDA_SUCCESS)
      return error_of(status);
    if (text != uuid)
      return NVML_ERROR_NOT_FOUND;
    *device = the_device();
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* id, nvmlDevice_t* device) {
  return initialized([&](const Driver& driver) -> CUresult {
    CUdevice found = 0;
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    const CUresult status = driver.cuDeviceGetByPCIBusId(&found, id);
    if (status == CUDA_SUCCESS)
      *device = the_device();
    return status;
  });
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  return of_device(device, [&](const Driver& driver) -> nvmlReturn_t {
    char text[96] = {};
    const CUresult status = driver.cuDeviceGetName(text, sizeof text, 0);
    return status == CUDA_SUCCESS ? give(name, length, text) : error_of(status);
  });
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return of_device(device, [&](const Driver& driver) -> nvmlReturn_t {
    std::string text;
    const CUresult status = uuid_text(driver, text);
    return status == CUDA_SUCCESS ? give(uuid, length, text) : error_of(status);
  });
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t device, unsigned* index) {
  return answer(device, index, 0U);
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t device, unsigned* number) {
  return answer(device, number, 0U);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return of_device(device, [&](const Driver& driver) { return describe_bus(driver, *info, true); }, info);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t* info) {
  return of_device(device, [&](const Driver& driver) { return describe_bus(driver, *info, false); }, info);
}

nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t device, unsigned* brand) {
  return answer(device, brand, NVML_BRAND_UNKNOWN); // none of NVIDIA's
}

nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t device, unsigned* architecture) {
  return of_device(
      device,
      [&](const Driver& driver) {
        Kind kind{};
        const CUresult status = kind_of_device(driver, kind);
        *architecture = kind.architecture;
        return status;
      },
      architecture);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int* major, int* minor) {
  return of_device(
      device, [&](const Driver& driver) { return capability(driver, *major, *minor); }, major, minor);
}

nvmlReturn_t nvmlDeviceGetNumGpuCores(nvmlDevice_t device, unsigned* cores) {
  return of_device(
      device,
      [&](const Driver& driver) {
        Kind kind{};
        int sms = 0;
        CUresult status = kind_of_device(driver, kind);
        if (status == CUDA_SUCCESS)
          status = driver.cuDeviceGetAttribute(&sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
        *cores = static_cast<unsigned>(sms) * kind.f32_lanes_per_sm;
        return status;
      },
      cores);
}

nvmlReturn_t nvmlDeviceGetMemoryBusWidth(nvmlDevice_t device, unsigned* bits) {
  return answer_attribute(device, bits, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
}
nvmlReturn_t nvmlDeviceGetMultiGpuBoard(nvmlDevice_t device, unsigned* is_one) {
  return answer_attribute(device, is_one, CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD);
}

nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t device, nvmlDevice_t other, int* are) {
  return answer_of_two(device, other, are, 1);
}
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other, unsigned* level) {
  return answer_of_two(device, other, level, NVML_TOPOLOGY_INTERNAL);
}
nvmlReturn_t nvmlDeviceGetTopologyNearestGpus(nvmlDevice_t device, unsigned, unsigned* count, nvmlDevice_t*) {
  return answer(device, count, 0U); // there is no other
}
