// The functions of the one device: its number is 0.
#include "driver/api.h"
#include "driver/call.h"
#include "texture/object.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

using namespace lemma::driver;

namespace {

// Within cuLemmaAsk.
thread_local const Machine* asked = nullptr;

// Body: CUresult(const Machine&).
template <class Body>
CUresult of_device(CUdevice device, Body&& body) {
  if (asked)
    return device == 0 ? body(*asked) : CUDA_ERROR_INVALID_DEVICE;
  return initialized(
      [&]() -> CUresult { return device == 0 ? body(state().machine) : CUDA_ERROR_INVALID_DEVICE; });
}

} // namespace

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return initialized([&]() -> CUresult {
    if (!device)
      return CUDA_ERROR_INVALID_VALUE;
    if (ordinal != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetCount(int* count) {
  return of_device(0, [&](const Machine&) -> CUresult {
    if (!count)
      return CUDA_ERROR_INVALID_VALUE;
    *count = 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return of_device(device, [&](const Machine& machine) -> CUresult {
    if (!name || length <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    std::snprintf(name, static_cast<size_t>(length), "%s", machine.name.c_str());
    return CUDA_SUCCESS;
  });
}

// The same on every machine and in every process.
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return of_device(device, [&](const Machine& machine) -> CUresult {
    if (!uuid)
      return CUDA_ERROR_INVALID_VALUE;
    std::memset(uuid, 0, sizeof *uuid);
    std::memcpy(uuid->bytes, "Lemma", 5);
    uuid->bytes[14] = static_cast<char>(machine.sm);
    uuid->bytes[15] = 1;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return cuDeviceGetUuid_v2(uuid, device);
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format format, unsigned channels,
                                            CUdevice device) {
  return of_device(device, [&](const Machine&) -> CUresult {
    const std::optional<Texels> texels = texels_of(format, channels);
    if (!width || !texels)
      return CUDA_ERROR_INVALID_VALUE;
    *width = (size_t{1} << 32) /
             (lemma::texture::bytes_of(texels->type) * channels); // 4 GiB, as an H200's driver says
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return of_device(device, [&](const Machine& machine) -> CUresult {
    if (!bytes)
      return CUDA_ERROR_INVALID_VALUE;
    *bytes = machine.memory_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return of_device(device, [&](const Machine& machine) -> CUresult {
    return value ? attribute_of(machine, attribute, *value) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  return of_device(device, [&](const Machine& machine) -> CUresult {
    if (!properties)
      return CUDA_ERROR_INVALID_VALUE;
    const auto get = [&](CUdevice_attribute attribute) {
      int value = 0;
      attribute_of(machine, attribute, value);
      return value;
    };
    *properties = {
        .maxThreadsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
        .maxThreadsDim = {get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X), get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
                          get(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
        .maxGridSize = {get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X), get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
                        get(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
        .sharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
        .totalConstantMemory = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
        .SIMDWidth = get(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
        .memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
        .regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
        .clockRate = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
        .textureAlign = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
    };
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  return of_device(device, [&](const Machine& machine) -> CUresult {
    if (!major || !minor)
      return CUDA_ERROR_INVALID_VALUE;
    *major = machine.sm / 10;
    *minor = machine.sm % 10;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetPCIBusId(char* id, int length, CUdevice device) {
  return of_device(device, [&](const Machine&) -> CUresult {
    char text[32];
    const int written = std::snprintf(text, sizeof text, "%04x:%02x:%02x.0", kPciDomain, kPciBus, kPciSlot);
    if (!id || length <= written)
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(id, text, static_cast<size_t>(written) + 1);
    return CUDA_SUCCESS;
  });
}

// "domain:bus:device.function", the domain and the function as one likes, numbers in hexadecimal.
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* id) {
  return of_device(0, [&](const Machine&) -> CUresult {
    if (!device || !id)
      return CUDA_ERROR_INVALID_VALUE;
    unsigned domain = 0, bus = 0, slot = 0;
    if (std::sscanf(id, "%x:%x:%x", &domain, &bus, &slot) != 3) {
      domain = 0;
      if (std::sscanf(id, "%x:%x", &bus, &slot) != 2)
        return CUDA_ERROR_INVALID_VALUE;
    }
    if (domain != kPciDomain || bus != kPciBus || slot != kPciSlot)
      return CUDA_ERROR_INVALID_DEVICE;
    *device = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return of_device(device, [&](const Machine&) -> CUresult {
    if (!can)
      return CUDA_ERROR_INVALID_VALUE;
    if (peer != 0)
      return CUDA_ERROR_INVALID_DEVICE;
    *can = 0; // itself
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute, CUdevice device, CUdevice) {
  return of_device(device, [&](const Machine&) -> CUresult {
    // There are no two devices.
    return value ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return in_context([&](Context&) -> CUresult {
    if (flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (!find_context(peer))
      return CUDA_ERROR_INVALID_CONTEXT;
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED; // it is the same device: an H200 says so, too
  });
}

CUresult cuCtxDisablePeerAccess(CUcontext peer) {
  return in_context([&](Context&) -> CUresult {
    return find_context(peer) ? CUDA_ERROR_PEER_ACCESS_NOT_ENABLED : CUDA_ERROR_INVALID_CONTEXT;
  });
}

CUresult cuDeviceGetExecAffinitySupport(int* supported, CUexecAffinityType type, CUdevice device) {
  return of_device(device, [&](const Machine&) -> CUresult {
    if (!supported || type >= CU_EXEC_AFFINITY_TYPE_MAX)
      return CUDA_ERROR_INVALID_VALUE;
    *supported = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuLemmaAsk(void (*ask)(void*), void* argument) {
  try {
    const auto machine = machine_now();
    if (!machine)
      return CUDA_ERROR_NO_DEVICE;
    asked = &*machine;
    ask(argument);
    asked = nullptr;
    return CUDA_SUCCESS;
  } catch (...) {
    asked = nullptr;
    return CUDA_ERROR_UNKNOWN;
  }
}

void cuLemmaUse(size_t* bytes, int* is_busy) {
  *bytes = 0;
  *is_busy = 0;
  (void)initialized([&]() -> CUresult {
    *bytes = state().memory.allocated_bytes();
    *is_busy = Context::any_has_work();
    return CUDA_SUCCESS;
  });
}
