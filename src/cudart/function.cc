// Kernels: their attributes, parameters, names, and how many of their blocks an SM holds.
#include "cudart/api.h"
#include "cudart/call.h"
#include "cudart/launch.h"
#include "cudart/registration.h"

namespace lemma::cudart {
namespace {

// Body: CUresult(const Driver&, CUfunction).
template <class Body>
cudaError_t with_kernel(const void* address, Body&& body) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUfunction function = nullptr;
    const cudaError_t error = find_kernel(driver, address, function);
    return error == cudaSuccess ? error_of(body(driver, function)) : error;
  });
}

} // namespace
} // namespace lemma::cudart

using namespace lemma::cudart;

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* address) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) -> CUresult {
    if (!attributes)
      return CUDA_ERROR_INVALID_VALUE;
    CUresult status = CUDA_SUCCESS;
    const auto ask = [&](auto& field, CUfunction_attribute attribute) {
      int value = 0;
      if (status == CUDA_SUCCESS)
        status = driver.cuFuncGetAttribute(&value, attribute, function);
      field = static_cast<std::remove_reference_t<decltype(field)>>(value);
    };
    cudaFuncAttributes a{};
    ask(a.sharedSizeBytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
    ask(a.constSizeBytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
    ask(a.localSizeBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
    ask(a.maxThreadsPerBlock, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    ask(a.numRegs, CU_FUNC_ATTRIBUTE_NUM_REGS);
    ask(a.ptxVersion, CU_FUNC_ATTRIBUTE_PTX_VERSION);
    ask(a.binaryVersion, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
    ask(a.cacheModeCA, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
    ask(a.maxDynamicSharedSizeBytes, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
    ask(a.preferredShmemCarveout, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
    ask(a.clusterDimMustBeSet, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
    ask(a.requiredClusterWidth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
    ask(a.requiredClusterHeight, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
    ask(a.requiredClusterDepth, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
    ask(a.clusterSchedulingPolicyPreference, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
    ask(a.nonPortableClusterSizeAllowed, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
    if (status == CUDA_SUCCESS)
      *attributes = a;
    return status;
  });
}

cudaError_t cudaFuncSetAttribute(const void* address, cudaFuncAttribute attribute, int value) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) {
    return driver.cuFuncSetAttribute(function, static_cast<CUfunction_attribute>(attribute), value);
  });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value,
                                            int device) {
  return in_context([&](const Driver& driver) {
    return driver.cuKernelSetAttribute(static_cast<CUfunction_attribute>(attribute), value, kernel, device);
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* address, cudaFuncCache config) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) {
    return driver.cuFuncSetCacheConfig(function, static_cast<CUfunc_cache>(config));
  });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* address, cudaSharedMemConfig config) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) {
    return driver.cuFuncSetSharedMemConfig(function, static_cast<CUsharedconfig>(config));
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* address) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) -> CUresult {
    if (!name)
      return CUDA_ERROR_INVALID_VALUE;
    *name = name_of_function(address);
    return *name ? CUDA_SUCCESS : driver.cuFuncGetName(name, function);
  });
}

cudaError_t cudaFuncGetParamInfo(const void* address, size_t index, size_t* offset, size_t* bytes) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) {
    return driver.cuFuncGetParamInfo(function, index, offset, bytes);
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* address) {
  return with_kernel(address, [&](const Driver& driver, CUfunction kernel) -> CUresult {
    if (!function)
      return CUDA_ERROR_INVALID_VALUE;
    return driver.cuKernelGetFunction(function, reinterpret_cast<CUkernel>(kernel));
  });
}

// --- occupancy

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* address, int threads,
                                                          size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, address, threads, shared_bytes,
                                                                cudaOccupancyDefault);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* address,
                                                                   int threads, size_t shared_bytes,
                                                                   unsigned flags) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) {
    return driver.cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads,
                                                                       shared_bytes, flags);
  });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* address, int blocks,
                                                      int threads) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) {
    return driver.cuOccupancyAvailableDynamicSMemPerBlock(bytes, function, blocks, threads);
  });
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* address,
                                           const cudaLaunchConfig_t* config) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) -> CUresult {
    CUlaunchConfig c;
    if (!config || to_driver(*config, c) != cudaSuccess)
      return CUDA_ERROR_INVALID_VALUE;
    return driver.cuOccupancyMaxActiveClusters(clusters, function, &c);
  });
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* address,
                                                 const cudaLaunchConfig_t* config) {
  return with_kernel(address, [&](const Driver& driver, CUfunction function) -> CUresult {
    CUlaunchConfig c;
    if (!config || to_driver(*config, c) != cudaSuccess)
      return CUDA_ERROR_INVALID_VALUE;
    return driver.cuOccupancyMaxPotentialClusterSize(size, function, &c);
  });
}
