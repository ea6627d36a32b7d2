// What a device says of itself, before anything is made and after; functions by name.
#include "record.h"

#include <cstring>

namespace record {
namespace {

void before_start() {
  int count = 0, version = 0;
  CUcontext context = nullptr;
  CUdevice device = 0;
  CUdeviceptr address = 0;
  const char* name = nullptr;
  CUmoduleLoadingMode mode{};
  SAY(cuDeviceGetCount(&count));
  SAY(cuDeviceGet(&device, 0));
  SAY(cuCtxGetCurrent(&context));
  SAY(cuCtxSynchronize());
  SAY(cuMemAlloc_v2(&address, 16));
  SAY(cuMemAlloc_v2(nullptr, 0));
  SAY(cuStreamSynchronize(nullptr));
  SAY(cuModuleGetLoadingMode(&mode));
  SAY_VALUE(version, cuDriverGetVersion(&version));
  SAY(cuDriverGetVersion(nullptr));
  SAY_VALUE(std::string(name), cuGetErrorName(CUDA_ERROR_ASSERT, &name));
  SAY(cuGetErrorName(static_cast<CUresult>(12345), &name));
  NOTE(name);
  SAY(cuGetErrorString(CUDA_SUCCESS, nullptr));
  SAY(cuInit(1));
  SAY(cuInit(0));
  SAY(cuInit(0));
  SAY_VALUE(mode, cuModuleGetLoadingMode(&mode));
  SAY(cuModuleGetLoadingMode(nullptr));
  SAY(cuCtxSynchronize());
  SAY(cuMemAlloc_v2(&address, 16));
  SAY(cuStreamSynchronize(nullptr));
  SAY(cuDevicePrimaryCtxReset_v2(0));
}

// Names alone: what they mean is said in Lemma's own words.
void error_names() {
  for (int error = 0; error <= 1000; ++error) {
    const char* name = nullptr;
    const CUresult status = static_cast<CUresult>(error);
    if (cuGetErrorName(status, &name) != CUDA_SUCCESS)
      continue;
    const Turn turn(std::to_string(error));
    SAY_VALUE(std::string(name), cuGetErrorName(status, &name));
  }
}

void device() {
  cuInit(0);
  int value = 0;
  CUdevice device = 0;
  SAY_VALUE(value, cuDeviceGetCount(&value));
  SAY(cuDeviceGetCount(nullptr));
  SAY_VALUE(device, cuDeviceGet(&device, 0));
  SAY(cuDeviceGet(&device, 1));
  SAY(cuDeviceGet(&device, -1));
  SAY(cuDeviceGet(nullptr, 0));
  char name[64] = {}, cut[7] = {};
  SAY(cuDeviceGetName(name, sizeof name, 0));
  SAY_VALUE(std::strlen(cut), cuDeviceGetName(cut, sizeof cut, 0));
  SAY(cuDeviceGetName(name, 0, 0));
  SAY(cuDeviceGetName(name, -1, 0));
  SAY(cuDeviceGetName(nullptr, 5, 0));
  SAY(cuDeviceGetName(name, 5, 1));
  CUuuid id{};
  SAY(cuDeviceGetUuid_v2(&id, 0));
  SAY(cuDeviceGetUuid_v2(nullptr, 0));
  SAY(cuDeviceGetUuid_v2(&id, 1));
  size_t bytes = 0;
  SAY(cuDeviceTotalMem_v2(&bytes, 0));
  SAY(cuDeviceTotalMem_v2(nullptr, 0));
  SAY(cuDeviceTotalMem_v2(&bytes, 1));
  int major = 0, minor = 0;
  SAY_VALUE(major * 10 + minor, cuDeviceComputeCapability(&major, &minor, 0));
  SAY(cuDeviceComputeCapability(nullptr, &minor, 0));
  CUdevprop properties{};
  SAY(cuDeviceGetProperties(&properties, 0));
  NOTE(properties.maxThreadsPerBlock);
  NOTE(properties.maxThreadsDim[0]);
  NOTE(properties.maxThreadsDim[1]);
  NOTE(properties.maxThreadsDim[2]);
  NOTE(properties.maxGridSize[0]);
  NOTE(properties.maxGridSize[1]);
  NOTE(properties.maxGridSize[2]);
  NOTE(properties.sharedMemPerBlock);
  NOTE(properties.totalConstantMemory);
  NOTE(properties.SIMDWidth);
  NOTE(properties.memPitch);
  NOTE(properties.regsPerBlock);
  NOTE(properties.clockRate);
  NOTE(properties.textureAlign);
  char bus[32] = {};
  SAY_VALUE(std::strlen(bus), cuDeviceGetPCIBusId(bus, sizeof bus, 0));
  SAY(cuDeviceGetPCIBusId(cut, sizeof cut, 0));
  SAY(cuDeviceGetPCIBusId(nullptr, 13, 0));
  SAY(cuDeviceGetPCIBusId(bus, 13, 1));
  SAY_VALUE(device, cuDeviceGetByPCIBusId(&device, bus));
  SAY(cuDeviceGetByPCIBusId(&device, "0000:77:00.0"));
  SAY(cuDeviceGetByPCIBusId(&device, "nonsense"));
  SAY(cuDeviceGetByPCIBusId(&device, nullptr));
  SAY(cuDeviceGetByPCIBusId(nullptr, bus));
  SAY_VALUE(value, cuDeviceCanAccessPeer(&value, 0, 0));
  SAY(cuDeviceCanAccessPeer(&value, 0, 1));
  SAY(cuDeviceCanAccessPeer(nullptr, 0, 0));
  SAY(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
  SAY(cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1));
  SAY_VALUE(value, cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  SAY_VALUE(bytes, cuDeviceGetTexture1DLinearMaxWidth(&bytes, CU_AD_FORMAT_FLOAT, 4, 0));
  SAY(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(0), 0));
  SAY(cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(100000), 0));
  SAY(cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
  SAY(cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1));
}

void attributes() {
  cuInit(0);
  for (int attribute = 1; attribute < 160; ++attribute) {
    if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID || attribute == CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID ||
        attribute == CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID)
      continue; // the machine's, not the card's
    const Turn turn(std::to_string(attribute));
    int value = -7;
    SAY_VALUE(value, cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), 0));
  }
}

void entry_points() {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  const auto ask = [&](const char* name, int version, cuuint64_t flags) {
    found = nullptr;
    status = CU_GET_PROC_ADDRESS_SUCCESS;
    return cuGetProcAddress_v2(name, &found, version, flags, &status);
  };
  SAY_VALUE(status, ask("", 0, 0));
  NOTE(status);
  SAY_VALUE(status, ask("cuMemAlloc", 3020, 0));
  NOTE(found == reinterpret_cast<void*>(&cuMemAlloc_v2));
  SAY_VALUE(status, ask("cuMemAlloc", 2000, 0));
  NOTE(found == reinterpret_cast<void*>(&cuMemAlloc));
  SAY_VALUE(status, ask("cuMemAlloc", 1000, 0));
  NOTE(status);
  SAY_VALUE(status, ask("cuGraphCreate", 9000, 0));
  NOTE(status);
  NOTE(found);
  SAY_VALUE(status, ask("cuCtxCreate", 11040, 0));
  NOTE(found == reinterpret_cast<void*>(&cuCtxCreate_v3));
  SAY_VALUE(status, ask("cuCtxCreate", 13000, 0));
  NOTE(found == reinterpret_cast<void*>(&cuCtxCreate_v4));
  SAY_VALUE(status, ask("cuCtxCreate", 13010, 0));
  SAY_VALUE(status, ask("cuCtxCreate", 14000, 0));
  SAY_VALUE(status, ask("cuNoSuchFunction", 13000, 0));
  NOTE(status);
  SAY_VALUE(status, ask("cuMemAlloc_v2", 13000, 0));
  NOTE(status);
  SAY_VALUE(status, ask("cuLaunchKernel_ptsz", 13000, 0));
  SAY_VALUE(status, ask("cuInit", 12000, 4));
  SAY_VALUE(status, ask("cuInit", 12000, 3));
  SAY_VALUE(status, ask("cuMemcpyHtoD", 7000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
  NOTE(found == reinterpret_cast<void*>(&cuMemcpyHtoD_v2_ptds));
  SAY_VALUE(status, ask("cuMemcpyHtoD", 3020, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
  NOTE(found == reinterpret_cast<void*>(&cuMemcpyHtoD_v2));
  SAY(cuGetProcAddress_v2(nullptr, &found, 12000, 0, nullptr));
  SAY(cuGetProcAddress_v2("cuInit", nullptr, 12000, 0, nullptr));
  SAY(cuGetProcAddress_v2("cuInit", &found, 12000, 0, nullptr));
  SAY(cuGetProcAddress_v2("cuInit", &found, -5, 0, nullptr));
}

} // namespace

std::vector<Section> device_sections() {
  return {{"before start", before_start},
          {"errors", error_names},
          {"device", device},
          {"device attributes", attributes},
          {"entry points", entry_points}};
}

} // namespace record
