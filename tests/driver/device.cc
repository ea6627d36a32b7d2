// What the device says of itself: an H200's sizes, where LEMMA_ARCH says nothing else.
#include "check.h"

namespace {

int attribute(CUdevice_attribute which) {
  int value = -1;
  OK(cuDeviceGetAttribute(&value, which, 0));
  return value;
}

} // namespace

int main() {
  OK(cuInit(0));
  int count = 0;
  OK(cuDeviceGetCount(&count));
  EQUAL(1, count);
  CUdevice device = -1;
  OK(cuDeviceGet(&device, 0));
  EQUAL(0, device);
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, 1));
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet(&device, -1));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGet(nullptr, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetCount(nullptr));

  char name[64] = {};
  OK(cuDeviceGetName(name, sizeof name, device));
  CHECK(std::string(name) == (on_gpu() ? "NVIDIA H200" : "Lemma virtual H200"));
  char cut[6] = {};
  OK(cuDeviceGetName(cut, sizeof cut, device));
  CHECK(std::string(cut) == (on_gpu() ? "NVIDI" : "Lemma"));
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName(name, sizeof name, 3));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName(nullptr, 5, device));

  CUuuid uuid{}, again{};
  OK(cuDeviceGetUuid_v2(&uuid, device));
  OK(cuDeviceGetUuid(&again, device));
  CHECK(std::memcmp(&uuid, &again, sizeof uuid) == 0);
  size_t bytes = 0;
  OK(cuDeviceTotalMem_v2(&bytes, device));
  CHECK(bytes > (size_t{64} << 20));

  EQUAL(9, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
  EQUAL(0, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
  EQUAL(132, attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  EQUAL(32, attribute(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
  EQUAL(1024, attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  EQUAL(64, attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z));
  EQUAL(2147483647, attribute(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X));
  EQUAL(49152, attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  EQUAL(232448, attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN));
  EQUAL(233472, attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR));
  EQUAL(1024, attribute(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK));
  EQUAL(65536, attribute(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK));
  EQUAL(62914560, attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE));
  EQUAL(1, attribute(CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH));
  EQUAL(1, attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING));
  EQUAL(0, attribute(CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS));
  EQUAL(0, attribute(CU_DEVICE_ATTRIBUTE_INTEGRATED));
  int value = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE,
        cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(100000), device));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 1));

  CUdevprop properties{};
  OK(cuDeviceGetProperties(&properties, device));
  EQUAL(1024, properties.maxThreadsPerBlock);
  EQUAL(65536, properties.regsPerBlock);
  int major = 0, minor = -1;
  OK(cuDeviceComputeCapability(&major, &minor, device));
  EQUAL(9, major);

  char bus[16] = {};
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetPCIBusId(bus, 7, device));
  OK(cuDeviceGetPCIBusId(bus, sizeof bus, device));
  OK(cuDeviceGetByPCIBusId(&device, bus));
  EQUAL(0, device);
  unsigned domain = 9, number = 9;
  EQUAL(2, std::sscanf(bus, "%x:%x", &domain, &number));
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID), static_cast<int>(domain));
  EQUAL(attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID), static_cast<int>(number));
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0000:7f:00.0"));
  FAILS(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId(&device, "nonsense"));
  int can = 1;
  OK(cuDeviceCanAccessPeer(&can, 0, 0));
  EQUAL(0, can);
  FAILS(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&can, 0, 1));
  FAILS(CUDA_ERROR_INVALID_DEVICE,
        cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 0));
  OK(cuDeviceGetExecAffinitySupport(&value, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 0));
  EQUAL(0, value);
  return result();
}
