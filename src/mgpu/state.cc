// Devices, modules, launches, streams and events. See state.h.
#include "mgpu/state.h"

#include <fmt/format.h>

namespace lemma::mgpu {
namespace {

// What is wrong with a grid, a block or a cluster; empty: nothing.
std::string wrong_size(const char* what, const std::array<int64_t, 3>& size) {
  for (const int64_t n : size)
    if (n < 1 || n > INT64_C(0xffff'ffff))
      return fmt::format("the {} is {} x {} x {}: each size is from 1 up", what, size[0], size[1], size[2]);
  return {};
}

Dim3 to_dim3(const std::array<int64_t, 3>& size) {
  return {static_cast<uint32_t>(size[0]), static_cast<uint32_t>(size[1]), static_cast<uint32_t>(size[2])};
}

std::string_view machine_code(std::string_view image) {
  return image.starts_with("\x7f"
                           "ELF")
             ? "a cubin"
         : image.starts_with("\x50\xed\x55\xba") ? "a fat binary"
                                                 : "";
}

} // namespace

State::State(Options options) : options_(std::move(options)), ordinal_(options_.ordinal) {
  if (options_.opened)
    devices_.emplace(ordinal_, *options_.opened);
  for (Buffer* buffer : options_.shared_memory)
    memory.share(*buffer);
  memory.keeps_freed = options_.keeps_memory;
}

// --- devices

OrFailure<Device*> State::device() {
  if (const auto open = devices_.find(ordinal_); open != devices_.end())
    return &open->second;
  Result<Device, Error> device = Device::open(
      options_.device,
      {.ordinal = ordinal_, .arch = options_.arch, .max_memory_bytes = options_.max_memory_bytes});
  if (!device)
    return failed(std::move(device).error());
  return &devices_.emplace(ordinal_, *std::move(device)).first->second;
}

OrFailure<void> State::set_device(int ordinal) {
  if (options_.device == "cpu" && ordinal != 0)
    return wrong(fmt::format("no device {}: the virtual GPU is device 0, and there is one", ordinal));
  const int before = ordinal_;
  ordinal_ = ordinal;
  if (const OrFailure<Device*> opened = device(); !opened) {
    ordinal_ = before;
    return Unexpected<Failure>{opened.error()};
  }
  return {};
}

// --- modules

OrFailure<Module*> State::loaded(ModuleRecord& module) {
  if (const auto found = module.loaded.find(ordinal_); found != module.loaded.end())
    return &found->second;
  const OrFailure<Device*> device = this->device();
  if (!device)
    return Unexpected<Failure>{device.error()};
  Result<Module, Error> fresh =
      (*device)->load_ptx(module.text, {.name = options_.module_name, .arch = options_.arch});
  if (!fresh)
    return failed(std::move(fresh).error());
  for (const Message& message : fresh->messages())
    said += message.rendered;
  return &module.loaded.emplace(ordinal_, *std::move(fresh)).first->second;
}

OrFailure<void*> State::load_module(std::string text) {
  if (const std::string_view what = machine_code(text); !what.empty())
    return wrong(
        fmt::format("the module is {}, machine code of a GPU; PTX text is wanted: lower with "
                    "gpu-module-to-binary=\"format=isa\" (gpu-lower-to-nvvm-pipeline: cubin-format=isa)",
                    what),
        ErrorKind::unsupported);
  if (text.empty())
    return wrong("the module is empty: no PTX text");
  auto module = std::make_unique<ModuleRecord>();
  module->text = std::move(text);
  if (const OrFailure<Module*> done = loaded(*module); !done)
    return Unexpected<Failure>{done.error()};
  void* handle = module.get();
  modules_.emplace(handle, std::move(module));
  return handle;
}

OrFailure<void> State::unload_module(void* handle) {
  const auto found = modules_.find(handle);
  if (found == modules_.end())
    return wrong(fmt::format("{} is no module: never loaded, or unloaded before", handle));
  for (const auto& [name, function] : found->second->functions)
    functions_.erase(function.get());
  modules_.erase(found);
  return {};
}

OrFailure<void*> State::function(void* handle, const char* name) {
  const auto found = modules_.find(handle);
  if (found == modules_.end())
    return wrong(fmt::format("{} is no module: never loaded, or unloaded before", handle));
  if (!name || !*name)
    return wrong("the kernel has no name");
  ModuleRecord& module = *found->second;
  std::unique_ptr<Function>& function = module.functions[{ordinal_, name}];
  if (!function) {
    const OrFailure<Module*> on_device = loaded(module);
    if (!on_device)
      return Unexpected<Failure>{on_device.error()};
    Result<Kernel, Error> kernel = (*on_device)->kernel(name);
    if (!kernel)
      return failed(std::move(kernel).error());
    function = std::make_unique<Function>(Function{*std::move(kernel)});
    functions_[function.get()] = function.get();
  }
  return static_cast<void*>(function.get());
}

// --- launches

OrFailure<std::vector<Argument>> State::arguments(const Kernel& kernel, void** params,
                                                  std::optional<size_t> param_count) const {
  const std::vector<Parameter>& parameters = kernel.parameters();
  if (param_count && *param_count != parameters.size())
    return wrong(
        fmt::format("the kernel has {} parameters, the launch passes {}", parameters.size(), *param_count));
  if (!params && !parameters.empty())
    return wrong(
        fmt::format("the kernel has {} parameters, the launch passes none (null)", parameters.size()));
  std::vector<Argument> arguments;
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!params[i])
      return wrong(fmt::format("parameter {} ({}) is a null pointer; a pointer to its value is wanted", i,
                               parameters[i].name));
    arguments.push_back(
        Argument::from_bytes({static_cast<const std::byte*>(params[i]), parameters[i].size_bytes}));
  }
  return arguments;
}

OrFailure<Launched> State::launch(void* handle, const LaunchSizes& sizes, void* stream, void** params,
                                  void** extra, std::optional<size_t> param_count) {
  const auto found = functions_.find(handle);
  if (found == functions_.end())
    return wrong(fmt::format(
        "{} is no function: it comes from mgpuModuleGetFunction, and goes with its module", handle));
  const Kernel& kernel = found->second->kernel;
  const auto named = [&](Failure failure) {
    failure.kernel = kernel.name();
    return fail(std::move(failure));
  };
  if (OrFailure<void> checked = check_stream(stream); !checked)
    return named(std::move(checked).error());
  if (extra)
    return named(wrong("`extra` is not null; parameters come through `params`").error);
  const bool clustered = sizes.cluster != std::array<int64_t, 3>{};
  std::string bad = wrong_size("grid", sizes.grid);
  if (bad.empty())
    bad = wrong_size("block", sizes.block);
  if (bad.empty() && clustered)
    bad = wrong_size("cluster", sizes.cluster);
  if (bad.empty() && sizes.shared_bytes < 0)
    bad = fmt::format("{} bytes of dynamic shared memory", sizes.shared_bytes);
  if (!bad.empty())
    return named(wrong(std::move(bad)).error);
  OrFailure<std::vector<Argument>> arguments = this->arguments(kernel, params, param_count);
  if (!arguments)
    return named(std::move(arguments).error());

  LaunchConfig config = options_.launch;
  config.grid = to_dim3(sizes.grid);
  config.block = to_dim3(sizes.block);
  config.cluster = clustered ? to_dim3(sizes.cluster) : Dim3{0, 0, 0};
  config.shared_bytes = static_cast<uint32_t>(sizes.shared_bytes);
  Result<Report, Error> report = kernel.launch(config, *arguments);
  if (!report)
    return failed(std::move(report).error(), kernel.name());
  if (!report->ok())
    return fail(Failure{.error = {}, .report = *std::move(report), .kernel = kernel.name()});
  said += report->rendered;
  return Launched{kernel, std::move(config), *std::move(arguments), *std::move(report)};
}

// --- streams and events

OrFailure<void*> State::create_stream() {
  auto stream = std::make_unique<Stream>();
  void* handle = stream.get();
  streams_.emplace(handle, std::move(stream));
  return handle;
}

OrFailure<void> State::check_stream(const void* stream) const {
  if (stream && !streams_.contains(stream))
    return wrong(fmt::format("{} is no stream: never created, or destroyed before", stream));
  return {};
}

OrFailure<void> State::destroy_stream(void* stream) {
  if (!stream)
    return wrong("the default stream (null) cannot be destroyed");
  OrFailure<void> checked = check_stream(stream);
  if (checked)
    streams_.erase(stream);
  return checked;
}

OrFailure<void*> State::create_event() {
  auto event = std::make_unique<Event>();
  void* handle = event.get();
  events_.emplace(handle, std::move(event));
  return handle;
}

OrFailure<void> State::check_event(const void* event) const {
  if (!event)
    return wrong("the event is null");
  if (!events_.contains(event))
    return wrong(fmt::format("{} is no event: never created, or destroyed before", event));
  return {};
}

OrFailure<void> State::destroy_event(void* event) {
  OrFailure<void> checked = check_event(event);
  if (checked)
    events_.erase(event);
  return checked;
}

OrFailure<void> State::record_event(void* event, const void* stream) {
  if (OrFailure<void> checked = check_event(event); !checked)
    return checked;
  if (OrFailure<void> checked = check_stream(stream); !checked)
    return checked;
  events_[event]->recorded = std::chrono::steady_clock::now();
  return {};
}

OrFailure<float> State::elapsed_milliseconds(const void* begin, const void* end) const {
  using Time = std::chrono::steady_clock::time_point;
  const auto time_of = [this](const void* event, const char* which) -> OrFailure<Time> {
    if (OrFailure<void> checked = check_event(event); !checked)
      return Unexpected<Failure>{std::move(checked).error()};
    const std::optional<Time>& recorded = events_.at(event)->recorded;
    if (!recorded)
      return wrong(fmt::format("the {} event was never recorded", which));
    return *recorded;
  };
  OrFailure<Time> first = time_of(begin, "first");
  if (!first)
    return Unexpected<Failure>{std::move(first).error()};
  OrFailure<Time> second = time_of(end, "second");
  if (!second)
    return Unexpected<Failure>{std::move(second).error()};
  const std::chrono::duration<float, std::milli> elapsed = *second - *first;
  return elapsed.count();
}

} // namespace lemma::mgpu
