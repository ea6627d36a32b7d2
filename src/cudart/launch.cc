// Launches, in all forms.
#include "cudart/launch.h"

#include "cudart/api.h"
#include "cudart/call.h"
#include "cudart/registration.h"

#include <climits>

namespace lemma::cudart {
namespace {

struct Configuration {
  dim3 grid, block;
  size_t shared_bytes;
  CUstream_st* stream;
};
// One below another while the arguments of a launch launch. Nothing to destroy at a thread's end.
constexpr unsigned kDeepest = 64;
struct Configurations {
  Configuration all[kDeepest];
  unsigned depth;
};
thread_local Configurations configurations; // zeros

cudaError_t launch(const Driver& driver, CUfunction function, const cudaLaunchConfig_t& from,
                   void** arguments) {
  CUlaunchConfig config;
  const cudaError_t error = to_driver(from, config);
  return error == cudaSuccess ? error_of(driver.cuLaunchKernelEx(&config, function, arguments, nullptr))
                              : error;
}

cudaError_t launch_address(const void* address, const cudaLaunchConfig_t& config, void** arguments) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUfunction function = nullptr;
    const cudaError_t error = find_kernel(driver, address, function);
    return error == cudaSuccess ? launch(driver, function, config, arguments) : error;
  });
}

cudaLaunchConfig_t plain(dim3 grid, dim3 block, size_t shared_bytes, cudaStream_t stream) {
  return {.gridDim = grid,
          .blockDim = block,
          .dynamicSmemBytes = shared_bytes,
          .stream = stream,
          .attrs = nullptr,
          .numAttrs = 0};
}

} // namespace

cudaError_t to_driver(const cudaLaunchConfig_t& from, CUlaunchConfig& config) {
  if (from.dynamicSmemBytes > UINT_MAX)
    return cudaErrorInvalidValue;
  config = {.gridDimX = from.gridDim.x,
            .gridDimY = from.gridDim.y,
            .gridDimZ = from.gridDim.z,
            .blockDimX = from.blockDim.x,
            .blockDimY = from.blockDim.y,
            .blockDimZ = from.blockDim.z,
            .sharedMemBytes = static_cast<unsigned>(from.dynamicSmemBytes),
            .hStream = from.stream,
            .attrs = reinterpret_cast<CUlaunchAttribute*>(from.attrs),
            .numAttrs = from.numAttrs};
  return cudaSuccess;
}

} // namespace lemma::cudart

using namespace lemma::cudart;

// What <<<>>> calls first; its arguments are evaluated then, and the kernel's stub pops.
unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
  if (configurations.depth == kDeepest)
    return record(cudaErrorMemoryAllocation);
  configurations.all[configurations.depth++] = {grid, block, shared_bytes, stream};
  return cudaSuccess;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  if (configurations.depth == 0)
    return record(cudaErrorMissingConfiguration);
  const Configuration& top = configurations.all[--configurations.depth];
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<CUstream_st**>(stream) = top.stream;
  return cudaSuccess;
}

// `kernel` is what __cudaGetKernel gave.
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!kernel)
      return cudaErrorInvalidDeviceFunction;
    const cudaError_t error = launch(driver, reinterpret_cast<CUfunction>(kernel),
                                     plain(grid, block, shared_bytes, stream), arguments);
    const cudaError_t why = error == cudaErrorInvalidResourceHandle ? why_not_loaded(kernel) : cudaSuccess;
    return why == cudaSuccess ? error : why;
  });
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return launch_address(function, plain(grid, block, shared_bytes, stream), arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  if (!config)
    return record(cudaErrorInvalidValue);
  return launch_address(function, *config, arguments);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  cudaLaunchAttribute cooperative{};
  cooperative.id = cudaLaunchAttributeCooperative;
  cooperative.val.cooperative = 1;
  cudaLaunchConfig_t config = plain(grid, block, shared_bytes, stream);
  config.attrs = &cooperative;
  config.numAttrs = 1;
  return launch_address(function, config, arguments);
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return pass(&Driver::cuLaunchHostFunc, stream, function, data);
}
