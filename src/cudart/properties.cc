// cudaDeviceProp: what the driver says of the device.
#include "cudart/api.h"
#include "cudart/call.h"

#include <cstring>

using namespace lemma::cudart;

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return started([&](const Driver& driver) -> cudaError_t {
    if (!properties)
      return cudaErrorInvalidValue;
    CUresult status = CUDA_SUCCESS;
    const auto ask = [&](auto& field, CUdevice_attribute attribute) {
      int value = 0;
      if (status == CUDA_SUCCESS)
        status = driver.cuDeviceGetAttribute(&value, attribute, device);
      field = static_cast<std::remove_reference_t<decltype(field)>>(value);
    };
    cudaDeviceProp p{};
#define PROPERTY(field, attribute) ask(p.field, CU_DEVICE_ATTRIBUTE_##attribute);
#include "cudart/properties.def"
#undef PROPERTY
    if (status == CUDA_SUCCESS)
      status = driver.cuDeviceGetName(p.name, sizeof p.name, device);
    if (status == CUDA_SUCCESS)
      status = driver.cuDeviceTotalMem_v2(&p.totalGlobalMem, device);
    CUuuid uuid = {};
    if (status == CUDA_SUCCESS)
      status = driver.cuDeviceGetUuid_v2(&uuid, device);
    std::memcpy(&p.uuid, &uuid, sizeof uuid);
    if (status == CUDA_SUCCESS)
      *properties = p;
    return error_of(status);
  });
}
