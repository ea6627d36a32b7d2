// The device: which one, its limits and settings, its life. There is one, device 0.
#include "cudart/api.h"
#include "cudart/call.h"

namespace lemma::cudart {
namespace {

constexpr int kRuntimeVersion = 13000;

cudaError_t check_device(const Driver& driver, int device) {
  int count = 0;
  if (const CUresult status = driver.cuDeviceGetCount(&count); status != CUDA_SUCCESS)
    return error_of(status);
  return device >= 0 && device < count ? cudaSuccess : cudaErrorInvalidDevice;
}

} // namespace
} // namespace lemma::cudart

using namespace lemma::cudart;

cudaError_t cudaRuntimeGetVersion(int* version) {
  return recorded([&]() -> cudaError_t {
    if (!version)
      return cudaErrorInvalidValue;
    *version = kRuntimeVersion;
    return cudaSuccess;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return recorded([&]() -> cudaError_t {
    if (!version)
      return cudaErrorInvalidValue;
    *version = 0; // "if no driver is installed"
    cudaError_t error = cudaSuccess;
    const Driver* driver = start(error);
    return driver ? error_of(driver->cuDriverGetVersion(version)) : cudaSuccess;
  });
}

cudaError_t cudaGetDeviceCount(int* count) {
  return started([&](const Driver& driver) -> cudaError_t {
    if (!count)
      return cudaErrorInvalidValue;
    const CUresult status = driver.cuDeviceGetCount(count);
    return status == CUDA_SUCCESS && *count == 0 ? cudaErrorNoDevice : error_of(status);
  });
}

cudaError_t cudaGetDevice(int* device) {
  return started([&](const Driver&) -> cudaError_t {
    if (!device)
      return cudaErrorInvalidValue;
    *device = 0;
    return cudaSuccess;
  });
}

// Since CUDA 12 it begins the primary context, too.
cudaError_t cudaSetDevice(int device) {
  return started([&](const Driver& driver) -> cudaError_t {
    const cudaError_t error = check_device(driver, device);
    return error == cudaSuccess ? use_primary_context(driver) : error;
  });
}

cudaError_t cudaInitDevice(int device, unsigned flags, unsigned how) {
  return started([&](const Driver& driver) -> cudaError_t {
    if (const cudaError_t error = check_device(driver, device); error != cudaSuccess)
      return error;
    if (how & ~cudaInitDeviceFlagsAreValid)
      return cudaErrorInvalidValue;
    if (how & cudaInitDeviceFlagsAreValid)
      if (const CUresult status = driver.cuDevicePrimaryCtxSetFlags_v2(device, flags & ~cudaDeviceMapHost);
          status != CUDA_SUCCESS)
        return error_of(status);
    return use_primary_context(driver);
  });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
  return started([&](const Driver& driver) -> cudaError_t {
    if (count < 0 || (count > 0 && !devices))
      return cudaErrorInvalidValue;
    for (int i = 0; i < count; ++i)
      if (const cudaError_t error = check_device(driver, devices[i]); error != cudaSuccess)
        return error;
    return cudaSuccess;
  });
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  return started([&](const Driver&) -> cudaError_t {
    if (!device || !wanted)
      return cudaErrorInvalidValue;
    *device = 0; // the nearest to whatever is wanted
    return cudaSuccess;
  });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
  // Host memory can be mapped in every context.
  return started([&](const Driver& driver) {
    return driver.cuDevicePrimaryCtxSetFlags_v2(0, flags & ~cudaDeviceMapHost);
  });
}

cudaError_t cudaGetDeviceFlags(unsigned* flags) {
  return started([&](const Driver& driver) -> cudaError_t {
    int active = 0;
    if (!flags)
      return cudaErrorInvalidValue;
    const CUresult status = driver.cuDevicePrimaryCtxGetState(0, flags, &active);
    *flags |= cudaDeviceMapHost;
    return error_of(status);
  });
}

cudaError_t cudaDeviceSynchronize() {
  return in_context([](const Driver& driver) { return driver.cuCtxSynchronize(); });
}

cudaError_t cudaDeviceReset() {
  return started(reset_primary_context);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return started([&](const Driver& driver) {
    return driver.cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device);
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return started([&](const Driver& driver) { return driver.cuDeviceGetPCIBusId(text, length, device); });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return started([&](const Driver& driver) { return driver.cuDeviceGetByPCIBusId(device, text); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return started([&](const Driver& driver) { return driver.cuDeviceCanAccessPeer(can, device, peer); });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int from, int to) {
  return started([&](const Driver& driver) {
    return driver.cuDeviceGetP2PAttribute(value, static_cast<CUdevice_P2PAttribute>(attribute), from, to);
  });
}

// The only peer there could be is the device itself, and that is none (seen on an H200).
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (flags != 0)
      return cudaErrorInvalidValue;
    const cudaError_t error = check_device(driver, peer);
    return error == cudaSuccess ? cudaErrorPeerAccessUnsupported : error;
  });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    const cudaError_t error = check_device(driver, peer);
    return error == cudaSuccess ? cudaErrorPeerAccessNotEnabled : error;
  });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return pass(&Driver::cuCtxGetLimit, value, limit);
}
cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  if (limit > cudaLimitPersistingL2CacheSize)
    return record(cudaErrorInvalidValue);
  return pass(&Driver::cuCtxSetLimit, limit, value);
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return pass(&Driver::cuCtxGetCacheConfig, config);
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return pass(&Driver::cuCtxSetCacheConfig, config);
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return pass(&Driver::cuCtxGetSharedMemConfig, config);
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  return pass(&Driver::cuCtxSetSharedMemConfig, config);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return pass(&Driver::cuCtxGetStreamPriorityRange, least, greatest);
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return pass(&Driver::cuCtxResetPersistingL2Cache);
}

// There is no profiler.
cudaError_t cudaProfilerStart() {
  return in_context([](const Driver&) { return cudaSuccess; });
}
cudaError_t cudaProfilerStop() {
  return in_context([](const Driver&) { return cudaSuccess; });
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* result) {
  return started([&](const Driver& driver) -> cudaError_t {
    if (!symbol || !function)
      return cudaErrorInvalidValue;
    CUdriverProcAddressQueryResult query = CU_GET_PROC_ADDRESS_SUCCESS;
    const CUresult status =
        driver.cuGetProcAddress_v2(symbol, function, static_cast<int>(version), flags, &query);
    if (result)
      *result =
          *symbol ? static_cast<cudaDriverEntryPointQueryResult>(query) : cudaDriverEntryPointSymbolNotFound;
    return status == CUDA_ERROR_NOT_FOUND ? cudaSuccess : error_of(status); // measured on an H200
  });
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* result) {
  return cudaGetDriverEntryPointByVersion(symbol, function, kRuntimeVersion, flags, result);
}

// Its undocumented tables are nobody's business but NVIDIA's.
cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t* id) {
  return recorded([&]() -> cudaError_t {
    if (table && id)
      *table = nullptr;
    return cudaErrorInvalidValue;
  });
}
