// Attributes of kernels, and how many of their CTAs are resident: as on the modelled GPU, which has no
// registers to run out of.
#include "driver/api.h"
#include "driver/call.h"
#include "driver/module.h"
#include "support/align.h"
#include "vgpu/engine/occupancy.h"

#include <algorithm>
#include <cstring>

namespace lemma::driver {
namespace {

// The virtual GPU allocates no registers: a number with which a full SM of threads fits.
constexpr int kRegistersPerThread = 32;

int sm_of(std::string_view target) {
  int sm = 0;
  for (const char c : target)
    if (c >= '0' && c <= '9')
      sm = sm * 10 + (c - '0');
  return sm;
}

template <class Body>
CUresult with_function(CUfunction handle, Body&& body) {
  return in_context_of(handle, [&](Context& context) -> CUresult {
    std::shared_ptr<Function> function;
    const CUresult status = find_function(context, handle, function);
    return status == CUDA_SUCCESS ? body(*function) : status;
  });
}

bool is_cache_config(CUfunc_cache config) {
  return config <= CU_FUNC_CACHE_PREFER_EQUAL;
}

CUresult parameter_info(const Function& function, size_t index, size_t* offset, size_t* bytes) {
  if (!offset)
    return CUDA_ERROR_INVALID_VALUE;
  const std::vector<Parameter>& parameters = function.kernel.parameters();
  if (index >= parameters.size())
    return CUDA_ERROR_INVALID_VALUE;
  *offset = parameters[index].offset_bytes;
  if (bytes)
    *bytes = parameters[index].size_bytes;
  return CUDA_SUCCESS;
}

} // namespace

Function::Function(Context& context, Module& module, Kernel kernel, KernelResources resources)
    : context(&context), module(&module), kernel(std::move(kernel)), resources(resources),
      constant_bytes(module.constant_bytes()),
      max_dynamic_shared_bytes(
          static_cast<int>(kSharedBytesWithoutOptIn -
                           std::min<uint64_t>(resources.static_shared_bytes, kSharedBytesWithoutOptIn))),
      cluster{} {}

CUresult Function::attribute(CUfunction_attribute attribute, int& value) const {
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    value = static_cast<int>(resources.max_threads);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    value = static_cast<int>(resources.static_shared_bytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    value = static_cast<int>(constant_bytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    value = static_cast<int>(resources.local_bytes);
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    value = kRegistersPerThread;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    value = sm_of(module->loaded.target());
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    value = state().machine.sm;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    value = 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    value = max_dynamic_shared_bytes;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    value = carveout;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    value = resources.required_cluster[0] != 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
    const size_t axis = attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH;
    value = cluster[axis] ? cluster[axis].load() : static_cast<int>(resources.required_cluster[axis]);
    return CUDA_SUCCESS;
  }
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    value = non_portable_cluster;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    value = cluster_scheduling;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult Function::set_attribute(CUfunction_attribute attribute, int value) {
  const vgpu::MachineLimits& limits = state().machine.limits;
  switch (attribute) {
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    if (value < 0 ||
        static_cast<uint64_t>(value) + resources.static_shared_bytes > limits.max_shared_bytes_per_cta)
      return CUDA_ERROR_INVALID_VALUE;
    max_dynamic_shared_bytes = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    if (value < -1 || value > 100)
      return CUDA_ERROR_INVALID_VALUE;
    carveout = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
  case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    if (value < 0 || (resources.required_cluster[0] != 0 &&
                      static_cast<uint32_t>(value) !=
                          resources.required_cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH]))
      return CUDA_ERROR_INVALID_VALUE;
    cluster[attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH] = value;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    non_portable_cluster = value != 0;
    return CUDA_SUCCESS;
  case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    if (value < 0 || value > int{CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING})
      return CUDA_ERROR_INVALID_VALUE;
    cluster_scheduling = value;
    return CUDA_SUCCESS;
  default:
    return CUDA_ERROR_INVALID_VALUE; // unknown, or not to be set
  }
}

uint32_t Function::ctas_per_sm(uint32_t threads, uint64_t dynamic_shared_bytes) const {
  const vgpu::MachineLimits& limits = state().machine.limits;
  const uint64_t shared_bytes = resources.static_shared_bytes + dynamic_shared_bytes;
  if (threads == 0 || threads > limits.max_threads_per_cta || shared_bytes > limits.max_shared_bytes_per_cta)
    return 0;
  return vgpu::occupancy_of(limits, {.threads = threads, .shared_bytes = shared_bytes}).ctas_per_sm;
}

CUresult find_function(Context& context, CUfunction handle, std::shared_ptr<Function>& function) {
  function = state().functions.find(handle);
  if (function)
    return CUDA_SUCCESS;
  const std::shared_ptr<LibraryKernel> kernel = state().kernels.find(handle);
  if (!kernel)
    return CUDA_ERROR_INVALID_HANDLE;
  std::shared_ptr<Module> module;
  if (const CUresult status = kernel->library->module_in(context, module); status != CUDA_SUCCESS)
    return status;
  function = module->function(kernel->name);
  return function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

} // namespace lemma::driver

using namespace lemma::driver;
namespace vgpu = lemma::vgpu;
using lemma::align_up;
using lemma::Dim3;

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
  return with_function(handle, [&](Function& function) -> CUresult {
    return value ? function.attribute(attribute, *value) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
  return with_function(handle, [&](Function& function) { return function.set_attribute(attribute, value); });
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device) {
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(kernel));
}

CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), attribute, value);
}

CUresult cuFuncSetCacheConfig(CUfunction handle, CUfunc_cache config) {
  return with_function(handle, [&](Function&) -> CUresult {
    return is_cache_config(config) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice device) {
  if (device != 0)
    return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncSetCacheConfig(reinterpret_cast<CUfunction>(kernel), config);
}

CUresult cuFuncSetSharedMemConfig(CUfunction handle, CUsharedconfig config) {
  return with_function(handle, [&](Function&) -> CUresult {
    return config <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  if (!handle)
    return CUDA_ERROR_INVALID_VALUE;
  return with_function(handle, [&](Function& function) -> CUresult {
    if (!module)
      return CUDA_ERROR_INVALID_VALUE;
    *module = function.module->handle();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
  if (!handle)
    return CUDA_ERROR_INVALID_VALUE;
  return with_function(handle, [&](Function& function) -> CUresult {
    if (!name)
      return CUDA_ERROR_INVALID_VALUE;
    *name = function.kernel.name().c_str();
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncLoad(CUfunction handle) {
  return with_function(handle, [](Function&) { return CUDA_SUCCESS; });
}

CUresult cuFuncIsLoaded(CUfunctionLoadingState* loaded, CUfunction handle) {
  return with_function(handle, [&](Function&) -> CUresult {
    if (!loaded)
      return CUDA_ERROR_INVALID_VALUE;
    *loaded = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* bytes) {
  return with_function(handle,
                       [&](Function& function) { return parameter_info(function, index, offset, bytes); });
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), index, offset, bytes);
}

// --- occupancy

namespace {

uint64_t product(const unsigned x, const unsigned y, const unsigned z) {
  return uint64_t{std::max(x, 1u)} * std::max(y, 1u) * std::max(z, 1u);
}

// The cluster that the launch names, else the kernel; zeros: none.
Dim3 cluster_of(const Function& function, const CUlaunchConfig& config) {
  for (unsigned i = 0; i < config.numAttrs; ++i)
    if (config.attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
      const auto& dim = config.attrs[i].value.clusterDim;
      return {dim.x, dim.y, dim.z};
    }
  if (function.resources.required_cluster[0] != 0)
    return function.resources.required_cluster;
  return {static_cast<uint32_t>(function.cluster[0]), static_cast<uint32_t>(function.cluster[1]),
          static_cast<uint32_t>(function.cluster[2])};
}

// How much of it fits on the current context's device.
template <class Body>
CUresult on_current_device(CUfunction handle, Body&& body) {
  return in_context([&](Context&) -> CUresult { return with_function(handle, body); });
}

} // namespace

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle, int threads,
                                                              size_t dynamic_shared_bytes, unsigned flags) {
  return on_current_device(handle, [&](Function& function) -> CUresult {
    if (!blocks || threads <= 0 || (flags & ~unsigned{CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE}))
      return CUDA_ERROR_INVALID_VALUE;
    *blocks =
        dynamic_shared_bytes > static_cast<size_t>(function.max_dynamic_shared_bytes.load())
            ? 0 // the kernel has not asked for so much
            : static_cast<int>(function.ctas_per_sm(static_cast<uint32_t>(threads), dynamic_shared_bytes));
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     size_t dynamic_shared_bytes) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic_shared_bytes,
                                                              0);
}

// The largest block among those that keep most threads on an SM.
CUresult cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction handle,
                                                   CUoccupancyB2DSize shared_of_block,
                                                   size_t dynamic_shared_bytes, int most_threads,
                                                   unsigned flags) {
  return on_current_device(handle, [&](Function& function) -> CUresult {
    if (!grid || !block || most_threads < 0 || (flags & ~unsigned{CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE}))
      return CUDA_ERROR_INVALID_VALUE;
    int most = static_cast<int>(function.resources.max_threads);
    if (most_threads > 0)
      most = std::min(most, most_threads);
    int best_threads = 0, best_block = 0, best_ctas = 0;
    for (int threads = static_cast<int>(align_up(static_cast<uint64_t>(most), kWarpThreads)); threads > 0;
         threads -= static_cast<int>(kWarpThreads)) {
      const int size = std::min(threads, most);
      const int ctas = static_cast<int>(function.ctas_per_sm(
          static_cast<uint32_t>(size), shared_of_block ? shared_of_block(size) : dynamic_shared_bytes));
      if (ctas * size > best_threads) {
        best_threads = ctas * size;
        best_block = size;
        best_ctas = ctas;
      }
    }
    *block = best_block;
    *grid = best_ctas * static_cast<int>(state().machine.limits.sm_count);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                          CUoccupancyB2DSize shared_of_block, size_t dynamic_shared_bytes,
                                          int most_threads) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, shared_of_block,
                                                   dynamic_shared_bytes, most_threads, 0);
}

CUresult cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction handle, int blocks, int threads) {
  return on_current_device(handle, [&](Function& function) -> CUresult {
    if (!bytes || blocks <= 0 || threads <= 0)
      return CUDA_ERROR_INVALID_VALUE;
    if (function.ctas_per_sm(static_cast<uint32_t>(threads), 0) < static_cast<uint32_t>(blocks))
      return CUDA_ERROR_INVALID_VALUE;
    // Measured on an H200: the system's share of each block does not count, the function's own limit does.
    const vgpu::MachineLimits& limits = state().machine.limits;
    const uint64_t share = vgpu::shared_bytes_of_each(limits, static_cast<uint32_t>(blocks)) +
                           limits.reserved_shared_bytes - function.resources.static_shared_bytes;
    *bytes = std::min(share, static_cast<uint64_t>(function.max_dynamic_shared_bytes.load()));
    return CUDA_SUCCESS;
  });
}

// A cluster's CTAs may lie on any SMs of the virtual GPU; those of a real one share a GPC, which holds fewer.
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction handle, const CUlaunchConfig* config) {
  return on_current_device(handle, [&](Function& function) -> CUresult {
    if (!clusters || !config || (config->numAttrs && !config->attrs))
      return CUDA_ERROR_INVALID_VALUE;
    const vgpu::MachineLimits& limits = state().machine.limits;
    const Dim3 cluster = cluster_of(function, *config);
    const uint64_t ctas = uint64_t{cluster[0]} * cluster[1] * cluster[2];
    if (ctas == 0 || config->gridDimX % cluster[0] != 0 || config->gridDimY % cluster[1] != 0 ||
        config->gridDimZ % cluster[2] != 0 || (!function.non_portable_cluster && ctas > kPortableClusterCtas))
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (ctas > limits.max_cluster_ctas) {
      *clusters = 0;
      return CUDA_SUCCESS;
    }
    const uint64_t threads = product(config->blockDimX, config->blockDimY, config->blockDimZ);
    const uint64_t per_sm = function.ctas_per_sm(static_cast<uint32_t>(threads), config->sharedMemBytes);
    *clusters = static_cast<int>(per_sm * limits.sm_count / ctas);
    return CUDA_SUCCESS;
  });
}

CUresult cuOccupancyMaxPotentialClusterSize(int* ctas, CUfunction handle, const CUlaunchConfig* config) {
  return on_current_device(handle, [&](Function& function) -> CUresult {
    if (!ctas || !config || (config->numAttrs && !config->attrs))
      return CUDA_ERROR_INVALID_VALUE;
    const vgpu::MachineLimits& limits = state().machine.limits;
    if (const Dim3 cluster = cluster_of(function, *config);
        product(cluster[0], cluster[1], cluster[2]) >
        (function.non_portable_cluster ? limits.max_cluster_ctas : kPortableClusterCtas))
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    const uint64_t threads = product(config->blockDimX, config->blockDimY, config->blockDimZ);
    if (function.ctas_per_sm(static_cast<uint32_t>(threads), config->sharedMemBytes) == 0)
      return CUDA_ERROR_INVALID_VALUE;
    *ctas = static_cast<int>(
        std::min(limits.max_cluster_ctas, function.non_portable_cluster ? UINT32_MAX : kPortableClusterCtas));
    return CUDA_SUCCESS;
  });
}
