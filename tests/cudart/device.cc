// What the device says of itself; limits, flags, peers; the driver's functions by name.
#include "check.h"

#ifndef LEMMA_TEST_WITH_TOOLKIT
#include "driver/types.h"
#endif

int main() {
  int count = 0, device = -1, version = 0, value = 0;
  OK(cudaGetDeviceCount(&count));
  EQUAL(1, count);
  OK(cudaGetDevice(&device));
  EQUAL(0, device);
  OK(cudaRuntimeGetVersion(&version));
  EQUAL(13000, version);
  OK(cudaDriverGetVersion(&version));
  CHECK(version >= 13000);

  cudaDeviceProp p{};
  OK(cudaGetDeviceProperties(&p, 0));
  CHECK(p.name[0] && p.major == 9 && p.minor == 0 && p.warpSize == 32 && p.totalGlobalMem > 0);
  EQUAL(132, p.multiProcessorCount);
  EQUAL(size_t{232448}, p.sharedMemPerBlockOptin);
  CHECK(p.maxGridSize[0] == 2147483647 && p.maxThreadsDim[2] == 64 && p.regsPerMultiprocessor == 65536);
  CHECK(p.cooperativeLaunch && p.clusterLaunch && p.managedMemory && p.memoryPoolsSupported);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  EQUAL(p.multiProcessorCount, value);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrComputeCapabilityMajor, 0));
  EQUAL(9, value);
  FAILS(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 1));
  FAILS(cudaErrorInvalidDevice, cudaGetDeviceProperties(&p, 7));
  char bus[32] = {};
  OK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
  OK(cudaDeviceGetByPCIBusId(&device, bus));
  EQUAL(0, device);
  OK(cudaChooseDevice(&device, &p));
  EQUAL(0, device);
  OK(cudaSetValidDevices(&device, 1));

  // Settings, before and after the context is there.
  unsigned flags = 0;
  OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync | cudaDeviceMapHost));
  OK(cudaGetDeviceFlags(&flags));
  EQUAL(cudaDeviceScheduleBlockingSync | cudaDeviceMapHost, flags);
  OK(cudaInitDevice(0, cudaDeviceScheduleAuto, cudaInitDeviceFlagsAreValid));
  FAILS(cudaErrorInvalidDevice, cudaInitDevice(1, 0, 0));
  OK(cudaSetDevice(0));
  FAILS(cudaErrorInvalidDevice, cudaSetDevice(1));
  size_t limit = 0;
  OK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 1 << 21));
  OK(cudaDeviceGetLimit(&limit, cudaLimitPrintfFifoSize));
  EQUAL(size_t{1} << 21, limit);
  cudaFuncCache cache = cudaFuncCachePreferNone;
  OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
  OK(cudaDeviceGetCacheConfig(&cache));
  cudaSharedMemConfig banks = cudaSharedMemBankSizeDefault;
  OK(cudaDeviceSetSharedMemConfig(cudaSharedMemBankSizeFourByte));
  OK(cudaDeviceGetSharedMemConfig(&banks));
  OK(cudaCtxResetPersistingL2Cache());
  OK(cudaProfilerStart());
  OK(cudaProfilerStop());

  OK(cudaDeviceCanAccessPeer(&value, 0, 0));
  EQUAL(0, value);
  FAILS(cudaErrorPeerAccessUnsupported, cudaDeviceEnablePeerAccess(0, 0));
  FAILS(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(0));
  FAILS(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(1, 0));
  FAILS(cudaErrorInvalidDevice, cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrPerformanceRank, 0, 1));

  void* function = nullptr;
  cudaDriverEntryPointQueryResult query = cudaDriverEntryPointSymbolNotFound;
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &query));
  CHECK(function && query == cudaDriverEntryPointSuccess);
  OK(cudaGetDriverEntryPoint("cuDriverGetVersion", &function, cudaEnableDefault, &query));
  using GetVersion = int (*)(int*);
  EQUAL(0, reinterpret_cast<GetVersion>(function)(&value));
  EQUAL(version, value);
  OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 13000, cudaEnableDefault, &query));
  CHECK(!function && query == cudaDriverEntryPointSymbolNotFound);
  OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 13000, cudaEnableDefault, nullptr));
  OK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 11000, cudaEnableDefault, &query));
  EQUAL(cudaDriverEntryPointVersionNotSufficent, query);
  OK(cudaGetDriverEntryPointByVersion("", &function, 13000, cudaEnableDefault, &query));
  EQUAL(cudaDriverEntryPointSymbolNotFound, query);
  const cudaUUID_t id = {};
  const void* table_of = &id;
  FAILS(cudaErrorInvalidValue, cudaGetExportTable(&table_of, &id));

  OK(cudaDeviceSynchronize());
  OK(cudaDeviceReset());
  const cudaChannelFormatDesc channel = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
  CHECK(channel.x == 32 && channel.f == cudaChannelFormatKindFloat);
  FAILS(cudaErrorNotSupported, cudaIpcCloseMemHandle(&value));
  return result();
}
