// The public API over the devices: what is the same on both of them. See include/lemma/lemma.h.
#include "layout/tensor_map.h"
#include "lemma/lemma.h"
#include "ptx/parser.h"
#include "runtime/check_text.h"
#include "runtime/device_impl.h"
#include "runtime/device_runtime.h"
#include "runtime/guarded.h"
#include "runtime/host_access.h"
#include "runtime/kernel_info.h"
#include "runtime/kernel_names.h"
#include "runtime/report_text.h"
#include "runtime/run_kernel.h"
#include "support/processors.h"
#include "support/worker_pool.h"
#include "verify/fusion.h"
#include "verify/lint.h"
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <stdexcept>

#ifndef LEMMA_VERSION
#error "LEMMA_VERSION comes from the project() line of CMakeLists.txt"
#endif

namespace lemma {

std::string_view version() {
  return LEMMA_VERSION;
}

uint64_t default_max_memory_bytes() {
  return default_memory_limit();
}

namespace runtime {

Unexpected<Error> failure(ErrorKind kind, std::string text) {
  return {{.kind = kind, .text = shortened(std::move(text), kLongestMessage), .messages = {}}};
}

Unexpected<Error> failure_in_callback() {
  return failure(
      ErrorKind::invalid_argument,
      "a callback of a launch (print, progress, observer) cannot use the device: the launch waits for it");
}

Result<void, Error> ModuleImpl::start(const KernelInfo&, const LaunchConfig&, const std::vector<std::byte>&) {
  return failure(ErrorKind::unsupported, "a launch that nobody waits for needs the device cuda");
}

Result<void, Error> DeviceImpl::with_driver(const char* what,
                                            const std::function<int(const cuda::Driver&)>&) {
  return failure(ErrorKind::unsupported, std::string(what) + ": there is no driver but for the device cuda");
}

namespace {

// f() when it is the turn of what has been called, see Timeline.
template <class F>
auto in_turn(DeviceImpl& device, F f, const HostAccess& access = {}) -> decltype(f()) {
  return guarded([&]() -> decltype(f()) {
    const Timeline::Turn turn = device.timeline->enter();
    if (!turn)
      return failure_in_callback();
    if (turn.error())
      return Unexpected<Error>{*turn.error()};
    auto done = f();
    if (done)
      note_access(device, turn.operation(), access);
    return done;
  });
}

} // namespace
} // namespace runtime

using runtime::failure;

// --- Device
// -----------------------------------------------------------------------------------------------------------

Result<Device, Error> Device::open(std::string_view kind, const DeviceOptions& options) {
  if (kind != "cpu" && kind != "cuda")
    return failure(ErrorKind::invalid_argument, fmt::format("no device '{}'; there are cpu and cuda", kind));
  return runtime::guarded([&]() -> Result<Device, Error> {
    auto impl = kind == "cpu" ? runtime::open_cpu_device(options) : runtime::open_cuda_device(options);
    if (!impl)
      return Unexpected<Error>{std::move(impl).error()};
    return Device(*std::move(impl));
  });
}

const DeviceInfo& Device::info() const {
  return impl_->info;
}

Result<Buffer, Error> Device::allocate(uint64_t size_bytes, const AllocateOptions& options) const {
  if (options.host_shared && options.poisoned && !impl_->host_watch)
    return failure(ErrorKind::invalid_argument,
                   "memory that is host_shared cannot be poisoned: the host's writes would go unseen");
  Result<uint64_t, Error> address = runtime::guarded([&] { return impl_->allocate(size_bytes, options); });
  if (!address)
    return Unexpected<Error>{std::move(address).error()};
  Buffer buffer;
  buffer.device_ = impl_;
  buffer.address_ = *address;
  buffer.size_bytes_ = size_bytes;
  buffer.epoch_ = impl_->epoch();
  return buffer;
}

Result<void, Error> Device::write(uint64_t address, std::span<const std::byte> source) const {
  return source.empty() ? Result<void, Error>()
                        : runtime::in_turn(
                              *impl_, [&] { return impl_->write(address, source); },
                              runtime::writing(address, source.size()));
}

Result<void, Error> Device::read(uint64_t address, std::span<std::byte> destination) const {
  return destination.empty() ? Result<void, Error>()
                             : runtime::in_turn(
                                   *impl_, [&] { return impl_->read(address, destination); },
                                   runtime::reading(address, destination.size()));
}

Result<void, Error> Device::fill(uint64_t address, uint64_t size_bytes, uint8_t value) const {
  return size_bytes == 0 ? Result<void, Error>()
                         : runtime::in_turn(
                               *impl_, [&] { return impl_->fill(address, size_bytes, value); },
                               runtime::writing(address, size_bytes));
}

Result<void, Error> Device::register_host(void* memory, uint64_t size_bytes, std::string name) const {
  if (!memory || size_bytes == 0)
    return failure(ErrorKind::invalid_argument, fmt::format("cannot register {} bytes of host memory at {}",
                                                            size_bytes, fmt::ptr(memory)));
  return runtime::guarded(
      [&] { return impl_->register_host(static_cast<std::byte*>(memory), size_bytes, std::move(name)); });
}

Result<void, Error> Device::unregister_host(void* memory) const {
  const Result<bool, Error> found =
      runtime::in_turn(*impl_, [&] { return impl_->unregister_host(static_cast<std::byte*>(memory)); });
  if (!found)
    return Unexpected<Error>{found.error()};
  if (!*found)
    return failure(ErrorKind::invalid_argument,
                   fmt::format("no host memory is registered at {}", fmt::ptr(memory)));
  return {};
}

Result<Module, Error> Device::load_ptx(std::string text, const LoadOptions& options) const {
  const int arch = options.arch.empty() ? 0 : runtime::arch_number(options.arch);
  if (!options.arch.empty() && arch == 0)
    return runtime::no_such_arch(options.arch);
  if (options.optimization > 4)
    return failure(ErrorKind::invalid_argument,
                   fmt::format("no optimization level {}; 0 to 4 are", options.optimization));
  return runtime::guarded([&] { return load_checked(std::move(text), options, arch); });
}

Result<Module, Error> Device::load_checked(std::string text, const LoadOptions& options, int arch) const {
  MemoryBudget* budget = impl_->budget();
  const uint64_t most_bytes = budget
                                  ? budget->limit_bytes() - std::min(budget->in_use(), budget->limit_bytes())
                                  : default_memory_limit();
  runtime::Checked checked = runtime::check_text(std::move(text), options.name, most_bytes);
  if (checked.module)
    if (auto whole = runtime::with_device_runtime(*checked.module))
      checked = runtime::check_text(*std::move(whole), options.name, most_bytes);
  if (!checked.module)
    return Unexpected<Error>{runtime::load_error(std::move(checked.messages))};
  MemoryShare taken = budget ? MemoryShare(*budget) : MemoryShare();
  taken.take(checked.module_bytes, "the module " + options.name);
  Result<std::shared_ptr<runtime::ModuleImpl>, Error> loaded =
      impl_->load(checked.module, arch, options.optimization);
  if (!loaded)
    return Unexpected<Error>{std::move(loaded).error()};
  runtime::ModuleImpl& impl = **loaded;
  impl.ptx = checked.module;
  impl.taken = std::move(taken);
  impl.kernels = runtime::kernel_infos(*checked.module);
  for (runtime::ModuleVariable& each : runtime::module_variables(*checked.module))
    if (const std::optional<uint64_t> address = impl.address_of(*each.declared)) {
      each.variable.address = *address;
      if (each.variable.is_managed)
        impl_->watch_host(*address);
      impl.variables.push_back(std::move(each.variable));
    }
  impl.messages = std::move(checked.messages);
  impl.target = checked.module->targets.empty() ? "" : checked.module->targets.front();
  impl.device = impl_;
  return Module(*std::move(loaded));
}

// --- Buffer
// -----------------------------------------------------------------------------------------------------------

Buffer::~Buffer() {
  free();
}

void Buffer::free() {
  if (device_ && epoch_ == device_->epoch())
    try {
      device_->timeline->when_free([device = device_, address = address_] { device->free(address); });
    } catch (
        const std::bad_alloc&) { // in a callback, no room to remember it: the memory goes with the device
    }
  device_ = nullptr;
  address_ = size_bytes_ = epoch_ = 0;
}

Result<void, Error> Buffer::check(uint64_t offset_bytes, uint64_t bytes) const {
  if (!device_)
    return failure(ErrorKind::invalid_argument, "the buffer is empty");
  if (epoch_ != device_->epoch())
    return failure(ErrorKind::device_lost,
                   "the buffer was lost with its context, by a fault of an earlier launch");
  if (offset_bytes > size_bytes_ || bytes > size_bytes_ - offset_bytes)
    return failure(ErrorKind::invalid_argument, fmt::format("{} bytes at {} are not inside a buffer of {}",
                                                            bytes, offset_bytes, size_bytes_));
  return {};
}

Result<void, Error> Buffer::copy_from(std::span<const std::byte> source, uint64_t offset_bytes) {
  if (Result<void, Error> checked = check(offset_bytes, source.size()); !checked || source.empty())
    return checked;
  return runtime::in_turn(
      *device_, [&] { return device_->write(address_ + offset_bytes, source); },
      runtime::writing(address_ + offset_bytes, source.size()));
}

Result<void, Error> Buffer::copy_to(std::span<std::byte> destination, uint64_t offset_bytes) const {
  if (Result<void, Error> checked = check(offset_bytes, destination.size()); !checked || destination.empty())
    return checked;
  return runtime::in_turn(
      *device_, [&] { return device_->read(address_ + offset_bytes, destination); },
      runtime::reading(address_ + offset_bytes, destination.size()));
}

Result<void, Error> Buffer::fill(uint8_t value) {
  if (Result<void, Error> checked = check(0, size_bytes_); !checked || size_bytes_ == 0)
    return checked;
  return runtime::in_turn(
      *device_, [&] { return device_->fill(address_, size_bytes_, value); },
      runtime::writing(address_, size_bytes_));
}

// --- Module
// -----------------------------------------------------------------------------------------------------------

std::vector<Kernel> Module::kernels() const {
  std::vector<Kernel> all;
  for (size_t i = 0; i < impl_->kernels.size(); ++i)
    all.push_back(Kernel(impl_, i));
  return all;
}

Result<Kernel, Error> Module::kernel(std::string_view name) const {
  const auto found = runtime::find_kernel(impl_->kernels, name);
  if (!found)
    return Unexpected<Error>{found.error()};
  return Kernel(impl_, *found);
}

const std::vector<Variable>& Module::variables() const {
  return impl_->variables;
}

Result<Variable, Error> Module::variable(std::string_view name) const {
  std::vector<std::string> names;
  for (const Variable& variable : impl_->variables) {
    if (variable.name == name)
      return variable;
    names.emplace_back(variable.name);
  }
  return failure(ErrorKind::invalid_argument,
                 names.empty() ? fmt::format("the module has no variable '{}', nor any other", name)
                               : fmt::format("the module has no variable '{}'; it has: {}", name,
                                             runtime::list_of(names)));
}

const std::vector<Message>& Module::messages() const {
  return impl_->messages;
}

const std::string& Module::target() const {
  return impl_->target;
}

const std::string& Module::arithmetic() const {
  return impl_->arithmetic;
}

const std::string& Module::assembled_by() const {
  return impl_->assembled_by;
}

// --- Kernel
// -----------------------------------------------------------------------------------------------------------

const std::string& Kernel::name() const {
  return module_->kernels[index_].name;
}

const std::vector<Parameter>& Kernel::parameters() const {
  return module_->kernels[index_].parameters;
}

Result<KernelResources, Error> Kernel::resources() const {
  const runtime::KernelInfo& kernel = module_->kernels[index_];
  return runtime::guarded([&] {
    Result<KernelResources, Error> resources = module_->resources_of(kernel);
    if (resources) {
      resources->required_block = kernel.required_block;
      resources->required_cluster = kernel.required_cluster;
    }
    return resources;
  });
}

Result<Report, Error> Kernel::launch(const LaunchConfig& config, std::span<const Argument> arguments) const {
  if (runtime::Timeline::in_callback())
    return failure(
        ErrorKind::invalid_argument,
        fmt::format("kernel {} cannot be launched from a callback (print, progress, observer) of a launch: "
                    "launch it when that has ended",
                    name()));
  return runtime::guarded([&]() -> Result<Report, Error> {
    Result<runtime::PreparedLaunch, Error> launch = runtime::prepare(module_, index_, config, arguments);
    if (!launch)
      return Unexpected<Error>{std::move(launch).error()};
    runtime::Timeline& timeline = *launch->module->device->timeline;
    const runtime::Timeline::Turn turn = timeline.enter();
    if (turn.error())
      return Unexpected<Error>{*turn.error()};
    return runtime::run_noted(*std::move(launch), {.others_may_act = [&] { return timeline.others_run(); }},
                              turn.operation());
  });
}

// --- streams
// -----------------------------------------------------------------------------------------------------------

Result<void, Error> Device::synchronize() const {
  return runtime::guarded([&] { return impl_->timeline->synchronize_all(); });
}

std::vector<Finding> Device::stream_findings() const {
  return impl_->stream_checks ? impl_->stream_checks->take(*impl_->timeline) : std::vector<Finding>();
}

// --- tensor maps
// -----------------------------------------------------------------------------------------------------------

Result<Argument, Error> Device::encode(const TensorMap& map) const {
  if (std::string wrong = layout::wrong_with(map); !wrong.empty())
    return failure(ErrorKind::invalid_argument, "tensor map: " + wrong);
  Result<std::array<std::byte, 128>, Error> bytes = runtime::guarded([&] { return impl_->encode(map); });
  if (!bytes)
    return Unexpected<Error>{std::move(bytes).error()};
  return Argument::from_bytes(*bytes);
}

// --- verify
// -----------------------------------------------------------------------------------------------------------

RepairedPtx repair_ptx(std::string text, std::string name) {
  constexpr int kMostPasses = 1000; // each mends something, and a hundred messages at most
  RepairedPtx repaired;
  for (int pass = 0; pass < kMostPasses; ++pass) {
    const auto source = std::make_shared<const SourceText>(name, text);
    size_t made = 0;
    std::string mended =
        apply_repairs(text, runtime::diagnose(source, default_memory_limit()).diagnostics, made);
    if (made == 0 || mended == text)
      break;
    repaired.repairs += made;
    text = std::move(mended);
  }
  repaired.verification = verify_ptx(text, std::move(name));
  repaired.text = std::move(text);
  return repaired;
}

Verification verify_ptx(std::string text, std::string name, bool lint) {
  runtime::Checked checked = runtime::check_text(std::move(text), std::move(name), default_memory_limit());
  const auto says = [&](Severity severity) {
    return std::ranges::any_of(checked.messages, [=](const Message& m) { return m.severity == severity; });
  };
  const bool undecided = checked.module && says(Severity::unsupported);
  Verification verification{.accepted = checked.module && !undecided,
                            .messages = std::move(checked.messages),
                            .fusions = {},
                            .undecided = undecided};
  if (!verification.accepted)
    return verification;
  if (lint)
    for (const Diagnostic& diagnostic : verify::lint(*checked.module))
      verification.lint.push_back(runtime::to_message(diagnostic, *checked.module->source));
  for (const verify::Fusion& fusion : verify::possible_fusions(*checked.module))
    verification.fusions.push_back(
        runtime::to_message(verify::describe(*checked.module, fusion), *checked.module->source));
  return verification;
}

void verify_each(size_t count, const std::function<Result<PtxText, Error>(size_t)>& read,
                 const std::function<void(size_t, Result<Verification, Error>)>& take, unsigned threads) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::map<size_t, Result<Verification, Error>> done; // those that wait for their turn
  size_t taken = 0;
  const auto verify_one = [&](size_t i) -> Result<Verification, Error> {
    Result<PtxText, Error> text = read(i);
    if (!text)
      return Unexpected<Error>{std::move(text).error()};
    return verify_ptx(std::move(text->text), std::move(text->name), text->lint);
  };
  const auto work = [&] {
    for (size_t i = 0; (i = next++) < count;) {
      Result<Verification, Error> result = verify_one(i);
      const std::scoped_lock lock(mutex);
      done.emplace(i, std::move(result));
      for (auto at = done.begin(); at != done.end() && at->first == taken; at = done.erase(at), ++taken)
        take(taken, std::move(at->second));
    }
  };
  const uint64_t wanted = threads ? threads : usable_processors();
  run_on_workers(std::min<uint64_t>(wanted, std::max<size_t>(count, 1)) - 1, work);
}

} // namespace lemma
