// Launches. What an H200 refuses at the call - sizes, attributes, shared memory - is refused here; what a
// kernel does wrong is the context's fault afterwards.
#include "driver/launch.h"

#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"
#include "runtime/kernel_names.h"
#include "support/verbose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string_view>

namespace lemma::driver {
namespace {

constexpr int kUnusedAttribute = 15; // a number between those of the enumeration

uint64_t product(const Dim3& size) {
  return uint64_t{size[0]} * size[1] * size[2];
}

uint64_t parameter_bytes(const Kernel& kernel) {
  const std::vector<Parameter>& parameters = kernel.parameters();
  return parameters.empty() ? 0 : parameters.back().offset_bytes + parameters.back().size_bytes;
}

// `extra`: a list of tags and values.
CUresult arguments_from_extra(void** extra, std::vector<std::byte>& arguments) {
  const void* buffer = nullptr;
  size_t bytes = 0;
  for (; extra[0] != CU_LAUNCH_PARAM_END; extra += 2)
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
      buffer = extra[1];
    else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
      bytes = *static_cast<const size_t*>(extra[1]);
    else
      return CUDA_ERROR_INVALID_VALUE;
  if (bytes > arguments.size())
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if ((bytes == 0 || !buffer) && !arguments.empty())
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes != 0) // an H200 takes fewer than the kernel has, too: the rest is zeros here
    std::memcpy(arguments.data(), buffer, bytes);
  return CUDA_SUCCESS;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
}

// What a launch that ended well is doubtful in: once a kernel and place.
void tell_warnings(const Report& report, const Kernel& kernel) {
  for (const std::string& warning : report.warnings) {
    const std::string_view place = std::string_view(warning).substr(0, warning.find(": "));
    const std::scoped_lock lock(state().told_mutex);
    if (state().told.insert(fmt::format("{} {}", kernel.name(), place)).second)
      print(fmt::format("lemma: kernel {}: {}\n", runtime::brief_name(kernel.name()), warning));
  }
}

// What becomes of a launch that has ended, or never began.
void end_launch(const Result<Report, Error>& report, const Kernel& kernel, bool is_programmatic,
                Context& context) {
  if (!report) {
    // Behind what has failed nothing runs, and that has been told.
    if (context.status() == CUDA_SUCCESS && report.error().kind != ErrorKind::kernel_failed) {
      print("lemma: " + report.error().text + "\n");
      context.fail_launch(status_of(report.error()));
    }
    return;
  }
  std::vector<Finding> findings = report->findings;
  if (!is_programmatic) // begins when the grids before it have ended
    std::erase_if(findings, [](const Finding& each) { return each.id == "warp.griddepcontrol"; });
  tell_findings(findings);
  if (state().reporter) {
    say_if_lost(state().reporter->count(kernel.name(), *report));
    if (report->fault)
      say_if_lost(state().reporter->add({.fault = *report->fault, .kernel = kernel.name()}));
  }
  if (!report->ok()) {
    if (report->fault && is_lemmas_own(report->fault->kind))
      context.fail_launch(status_of(report->fault->kind));
    else
      context.fail(report->fault ? status_of(report->fault->kind) : CUDA_ERROR_LAUNCH_FAILED);
    print(report->rendered);
  } else if (is_verbose()) {
    print(report->rendered);
  } else {
    tell_warnings(*report, kernel);
  }
}

} // namespace

CUresult make_launch(Context& context, const CUDA_KERNEL_NODE_PARAMS& parameters, KernelLaunch& launch) {
  const CUfunction handle = parameters.func ? parameters.func : reinterpret_cast<CUfunction>(parameters.kern);
  if (const CUresult wrong = find_function(context, handle, launch.function); wrong != CUDA_SUCCESS)
    return wrong;
  launch.parameters = parameters;
  launch.parameters.kernelParams = launch.parameters.extra = nullptr;
  if (handle != launch.function->handle()) // a library's kernel, which nodes of graphs give back
    launch.parameters.kern = reinterpret_cast<CUkernel>(handle);
  if (parameters.kernelParams && parameters.extra)
    return CUDA_ERROR_INVALID_VALUE;
  const Kernel& kernel = launch.function->kernel;
  launch.arguments.assign(parameter_bytes(kernel), std::byte{});
  if (parameters.extra)
    return arguments_from_extra(parameters.extra, launch.arguments);
  for (size_t i = 0; i < kernel.parameters().size(); ++i) {
    const Parameter& parameter = kernel.parameters()[i];
    if (!parameters.kernelParams || !parameters.kernelParams[i])
      return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(launch.arguments.data() + parameter.offset_bytes, parameters.kernelParams[i],
                parameter.size_bytes);
  }
  return CUDA_SUCCESS;
}

CUresult add_attribute(KernelLaunch& launch, const CUlaunchAttribute& attribute) {
  if (attribute.id >= CU_LAUNCH_ATTRIBUTE_MAX || attribute.id == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY ||
      attribute.id == kUnusedAttribute)
    return CUDA_ERROR_INVALID_VALUE;
  if (attribute.id == CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)
    return CUDA_ERROR_NOT_SUPPORTED;
  if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
    launch.cooperative = attribute.value.cooperative != 0;
  if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
    const Dim3 wanted = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                         attribute.value.clusterDim.z};
    if (wanted != Dim3{0, 0, 0}) { // which is none
      launch.cluster = wanted;
      launch.names_cluster = true;
    }
  }
  const auto same = std::find_if(launch.attributes.begin(), launch.attributes.end(),
                                 [&](const CUlaunchAttribute& each) { return each.id == attribute.id; });
  if (same != launch.attributes.end())
    *same = attribute;
  else if (attribute.id != CU_LAUNCH_ATTRIBUTE_IGNORE)
    launch.attributes.push_back(attribute);
  return CUDA_SUCCESS;
}

namespace {

// By the text, or by attributes of the function; zeros: it is not.
Dim3 declared_cluster(const Function& function) {
  if (function.resources.required_cluster[0] != 0)
    return function.resources.required_cluster;
  return {static_cast<uint32_t>(function.cluster[0].load()),
          static_cast<uint32_t>(function.cluster[1].load()),
          static_cast<uint32_t>(function.cluster[2].load())};
}

CUresult check_cluster(const KernelLaunch& launch, const Dim3& grid) {
  const Function& function = *launch.function;
  const Dim3 declared = declared_cluster(function);
  if (!launch.names_cluster && declared == Dim3{0, 0, 0})
    return CUDA_SUCCESS;
  const Dim3 cluster = launch.names_cluster ? launch.cluster : declared;
  const uint64_t ctas = product(cluster);
  if (ctas == 0 || ctas > state().machine.limits.max_cluster_ctas ||
      (ctas > kPortableClusterCtas && !function.non_portable_cluster))
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  for (size_t i = 0; i < 3; ++i)
    if (grid[i] % cluster[i] != 0 || (declared[i] != 0 && declared[i] != cluster[i]))
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  return CUDA_SUCCESS;
}

} // namespace

CUresult check_launch(const KernelLaunch& launch) {
  const vgpu::MachineLimits& limits = state().machine.limits;
  const Function& function = *launch.function;
  const CUDA_KERNEL_NODE_PARAMS& p = launch.parameters;
  const Dim3 grid{p.gridDimX, p.gridDimY, p.gridDimZ}, block{p.blockDimX, p.blockDimY, p.blockDimZ};
  for (size_t i = 0; i < 3; ++i)
    if (grid[i] == 0 || grid[i] > limits.max_grid[i] || block[i] == 0 || block[i] > limits.max_block[i])
      return CUDA_ERROR_INVALID_VALUE;
  if (product(block) > function.resources.max_threads)
    return CUDA_ERROR_INVALID_VALUE;
  Dim3 required = function.resources.required_block;
  if (required[0] != 0 && (required[0] != block[0] || std::max(required[1], 1u) != block[1] ||
                           std::max(required[2], 1u) != block[2]))
    return CUDA_ERROR_INVALID_VALUE;
  if (p.sharedMemBytes > static_cast<unsigned>(function.max_dynamic_shared_bytes.load()))
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult wrong = check_cluster(launch, grid); wrong != CUDA_SUCCESS)
    return wrong;
  if (launch.cooperative) {
    const uint64_t per_sm = function.ctas_per_sm(static_cast<uint32_t>(product(block)), p.sharedMemBytes);
    if (product(grid) > per_sm * limits.sm_count)
      return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return CUDA_SUCCESS;
}

CUresult enqueue_launch(const KernelLaunch& launch, const lemma::Stream& queue, Context& context) {
  const CUDA_KERNEL_NODE_PARAMS& p = launch.parameters;
  LaunchConfig config = state().machine.launch;
  config.grid = {p.gridDimX, p.gridDimY, p.gridDimZ};
  config.block = {p.blockDimX, p.blockDimY, p.blockDimZ};
  config.cluster = launch.cluster;
  config.shared_bytes = p.sharedMemBytes;
  config.cooperative = launch.cooperative;
  const Kernel& kernel = launch.function->kernel;
  std::vector<Argument> arguments;
  for (const Parameter& parameter : kernel.parameters())
    arguments.push_back(Argument::from_bytes(
        std::span(launch.arguments).subspan(parameter.offset_bytes, parameter.size_bytes)));
  constexpr int kFirstProgrammaticSm =
      90; // older ones do not know griddepcontrol: the attribute does nothing
  for (const CUlaunchAttribute& attribute : launch.attributes)
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION)
      config.programmatic = attribute.value.programmaticStreamSerializationAllowed != 0 &&
                            state().machine.sm >= kFirstProgrammaticSm;
  return status_of(queue.launch(
      kernel, config, arguments,
      [&context, kernel, is_programmatic = config.programmatic](const Result<Report, Error>& report) {
        end_launch(report, kernel, is_programmatic, context);
      }));
}

namespace {

CUresult launch(const CUDA_KERNEL_NODE_PARAMS& parameters, CUstream stream_handle, bool cooperative,
                std::span<const CUlaunchAttribute> attributes) {
  return in_stream(stream_handle, [&](Stream& stream) -> CUresult {
    KernelLaunch launch;
    if (const CUresult wrong = make_launch(*stream.context, parameters, launch); wrong != CUDA_SUCCESS)
      return wrong;
    if (launch.function->context != stream.context)
      return CUDA_ERROR_INVALID_HANDLE;
    launch.parameters.func = launch.function->handle();
    for (size_t i = 0; i < 3; ++i)
      launch.cluster[i] = static_cast<uint32_t>(launch.function->cluster[i].load());
    launch.cooperative = cooperative;
    for (const CUlaunchAttribute& attribute : attributes)
      if (const CUresult wrong = add_attribute(launch, attribute); wrong != CUDA_SUCCESS)
        return wrong;
    const CUresult status = stream.submit(std::move(launch));
    const bool waits = status == CUDA_SUCCESS && stream.context->launches_block && !stream.capture();
    return waits ? stream.synchronize() : status;
  });
}

CUDA_KERNEL_NODE_PARAMS parameters_of(CUfunction function, const Dim3& grid, const Dim3& block,
                                      unsigned shared_bytes, void** kernel_parameters, void** extra) {
  return {.func = function,
          .gridDimX = grid[0],
          .gridDimY = grid[1],
          .gridDimZ = grid[2],
          .blockDimX = block[0],
          .blockDimY = block[1],
          .blockDimZ = block[2],
          .sharedMemBytes = shared_bytes,
          .kernelParams = kernel_parameters,
          .extra = extra,
          .kern = nullptr,
          .ctx = nullptr};
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        CUstream stream, void** parameters, void** extra) {
  return launch(parameters_of(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                              parameters, extra),
                stream, false, {});
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                   unsigned block_x, unsigned block_y, unsigned block_z,
                                   unsigned shared_bytes, CUstream stream, void** parameters) {
  return launch(parameters_of(function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes,
                              parameters, nullptr),
                stream, true, {});
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  if (!config || (config->numAttrs && !config->attrs))
    return CUDA_ERROR_INVALID_VALUE;
  return launch(parameters_of(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                              {config->blockDimX, config->blockDimY, config->blockDimZ},
                              config->sharedMemBytes, parameters, extra),
                config->hStream, false, {config->attrs, config->numAttrs});
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    if (!function)
      return CUDA_ERROR_INVALID_VALUE;
    return stream.submit(HostCall{{.fn = function, .userData = data}});
  });
}
