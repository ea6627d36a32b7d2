// A real GPU, through the CUDA driver.
//
// Uses the device's primary context, so that other CUDA code of the process shares it. A kernel fault leaves
// a context in which every call fails; it is reset and taken anew at the next call, and what lived in it
// (buffers, modules) answers device_lost. Where the driver refuses that too (the driver API leaves it open),
// every further call says so.
//
// PTX text that is newer than the driver takes is assembled by a ptxas, where one is installed (assemble.h).
//
// Not here: arguments, messages about PTX text (api.cc). Tests: tests/unit/runtime/cuda_device_test.cc,
// against a driver made for the test, and on the GPU itself where there is one.
#include "isa/target.h"
#include "runtime/assemble.h"
#include "runtime/cuda_driver.h"
#include "runtime/cuda_tensor_map.h"
#include "runtime/device_impl.h"
#include "runtime/kernel_info.h"
#include "support/ptxas_paths.h"
#include "verify/fusion.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>

namespace lemma::runtime {
namespace {

using cuda::Driver;
using cuda::Status;

constexpr uint8_t kPoison = 0xCB; // of memory that the caller wants poisoned

// Statuses after which the context is of no use.
std::optional<FaultKind> fault_kind(Status status) {
  switch (status) {
  case cuda::kIllegalAddress:
    return FaultKind::out_of_bounds;
  case cuda::kMisalignedAddress:
    return FaultKind::misaligned;
  case cuda::kInvalidAddressSpace:
    return FaultKind::wrong_space;
  case cuda::kInvalidPc:
    return FaultKind::bad_call;
  case cuda::kHardwareStackError:
    return FaultKind::call_too_deep;
  case cuda::kAssert:
    return FaultKind::assertion;
  case cuda::kIllegalInstruction:
    return FaultKind::illegal_instruction;
  case cuda::kLaunchTimeout:
    return FaultKind::timeout;
  case cuda::kLaunchFailed: // trap gives this one too
    return FaultKind::launch_failed;
  default:
    return std::nullopt;
  }
}

class CudaDevice;

// The device's context, current in this thread while it lives.
class Current {
public:
  Current(const Driver& driver, cuda::Context context)
      : driver_(driver), status(driver.context_push_current(context)) {}
  ~Current() {
    cuda::Context popped = nullptr;
    if (status == cuda::kSuccess)
      driver_.context_pop_current(&popped);
  }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

private:
  const Driver& driver_;

public:
  const Status status;
};

class CudaModule final : public ModuleImpl {
public:
  CudaModule(std::shared_ptr<CudaDevice> device, cuda::ModuleHandle handle, uint64_t epoch,
             std::vector<verify::Fusion> fusions)
      : device_(std::move(device)), handle_(handle), epoch_(epoch), fusions_(std::move(fusions)) {}
  ~CudaModule() override;

  Result<Report, Error> launch(const KernelInfo& kernel, const LaunchConfig& config,
                               std::vector<std::byte> params, LaunchHooks hooks) override;
  Result<void, Error> start(const KernelInfo& kernel, const LaunchConfig& config,
                            const std::vector<std::byte>& params) override;
  Result<KernelResources, Error> resources_of(const KernelInfo& kernel) override;
  std::optional<uint64_t> address_of(const ptx::Variable& variable) override;

private:
  Status enqueue(cuda::Function function, const KernelInfo& kernel, const LaunchConfig& config,
                 const std::vector<std::byte>& params) const;
  Unexpected<Error> refused(const KernelInfo& kernel, Status status) const;
  static Unexpected<Error> lost() {
    return failure(ErrorKind::device_lost,
                   "the module was lost with its context, by a fault of an earlier launch");
  }
  std::string fusion_warning(const KernelInfo& kernel) const;

  std::shared_ptr<CudaDevice> device_;
  cuda::ModuleHandle handle_;
  uint64_t epoch_;
  std::vector<verify::Fusion> fusions_; // that the driver's compiler may have made
};

// Kernels of streams run one after the other there: what one waits for may be what waits for it.
Unexpected<Error> no_values() {
  return failure(ErrorKind::unsupported,
                 "values that streams write and wait for are the virtual GPU's: \"cuda\" does not have them");
}

class CudaDevice final : public DeviceImpl {
public:
  CudaDevice(std::shared_ptr<const Driver> driver, cuda::DeviceHandle device)
      : driver(std::move(driver)), device_(device) {}
  ~CudaDevice() override {
    if (context_)
      driver->primary_context_release(device_);
  }

  Result<uint64_t, Error> allocate(uint64_t size_bytes, const AllocateOptions& options) override;
  void free(uint64_t address) override;
  Result<void, Error> register_host(std::byte* memory, uint64_t size_bytes, std::string name) override;
  Result<bool, Error> unregister_host(std::byte* memory) override;
  Result<void, Error> write(uint64_t address, std::span<const std::byte> source) override;
  Result<void, Error> read(uint64_t address, std::span<std::byte> destination) override;
  Result<void, Error> fill(uint64_t address, uint64_t bytes, uint8_t value) override;
  Result<void, Error> copy(uint64_t to, uint64_t from, uint64_t bytes) override;
  Result<void, Error> write_value(uint64_t, uint64_t, uint32_t) override { return no_values(); }
  Result<void, Error> wait_value(uint64_t, uint32_t, const std::function<bool(uint64_t)>&) override {
    return no_values();
  }
  Result<std::array<std::byte, 128>, Error> encode(const TensorMap& map) override;
  Result<std::shared_ptr<ModuleImpl>, Error> load(std::shared_ptr<const ptx::Module> module, int arch,
                                                  unsigned optimization) override;
  Result<void, Error> with_driver(const char* what, const std::function<int(const Driver&)>& f) override {
    return call(what, [&] { return f(*driver); });
  }
  uint64_t epoch() const override { return epoch_; }

  // The context, taken anew if a fault took it.
  Result<cuda::Context, Error> context();
  // After a fault: gives the broken context up. What lived in it is lost.
  void lose_context();
  // Calls f() with the context current; `what` begins the error text.
  template <class F>
  Result<void, Error> call(const char* what, F f);
  // The same for f() that reads or writes device memory.
  template <class F>
  Result<void, Error> access(const char* what, uint64_t address, uint64_t bytes, F f);
  Unexpected<Error> driver_error(const char* what, Status status);

  const std::shared_ptr<const Driver> driver;
  int sm = 0; // 90 of compute capability 9.0

private:
  // Why the driver did not take an image.
  struct Refusal {
    Status status = cuda::kSuccess;
    Error error;     // with the log
    std::string log; // of its assembler
    bool is_of_version() const {
      return status == cuda::kUnsupportedPtxVersion || !newest_ptx_in(log).empty();
    }
  };
  Result<cuda::ModuleHandle, Refusal> load_image(const char* what, const std::string& image,
                                                 unsigned optimization);
  std::string machine_for(const isa::Target& target) const;
  // By a ptxas that is installed, where the driver has refused the text's version.
  Result<cuda::ModuleHandle, Refusal> load_assembled(const ptx::Module& module, const isa::Target& target,
                                                     unsigned optimization, const Refusal& refused,
                                                     std::string& assembled_by);

  cuda::DeviceHandle device_;
  // Registered host memory. A range inside another was not given to the driver, which takes none twice.
  struct HostRange {
    uint64_t size_bytes = 0;
    uint64_t registrations = 0;
    bool inside_another = false;
  };
  std::map<std::byte*, HostRange> host_ranges_;
  std::mutex mutex_; // guards context_, host_ranges_
  cuda::Context context_ = nullptr;
  std::atomic<uint64_t> epoch_{0};
};

Result<cuda::Context, Error> CudaDevice::context() {
  const std::scoped_lock lock(mutex_);
  if (context_)
    return context_;
  if (const Status status = driver->primary_context_retain(&context_, device_); status != cuda::kSuccess) {
    context_ = nullptr;
    const char* hint = epoch_ ? " (a kernel faulted before; the process may have to be started anew)" : "";
    return failure(epoch_ ? ErrorKind::device_lost : ErrorKind::unavailable,
                   fmt::format("cannot open {}: {}{}", info.name, driver->describe(status), hint));
  }
  return context_;
}

void CudaDevice::lose_context() {
  const std::scoped_lock lock(mutex_);
  if (!context_)
    return;
  driver->primary_context_release(device_);
  driver->primary_context_reset(device_);
  context_ = nullptr;
  host_ranges_.clear();
  ++epoch_;
}

Unexpected<Error> CudaDevice::driver_error(const char* what, Status status) {
  if (fault_kind(status)) {
    lose_context();
    return failure(ErrorKind::device_lost,
                   fmt::format("{}: a kernel had faulted: {}", what, driver->describe(status)));
  }
  const ErrorKind kind = status == cuda::kOutOfMemory ? ErrorKind::out_of_memory : ErrorKind::unavailable;
  return failure(kind, fmt::format("{}: {}", what, driver->describe(status)));
}

template <class F>
Result<void, Error> CudaDevice::call(const char* what, F f) {
  const Result<cuda::Context, Error> opened = context();
  if (!opened)
    return failure(opened.error().kind, opened.error().text);
  const Current current(*driver, *opened);
  const Status status = current.status == cuda::kSuccess ? f() : current.status;
  if (status != cuda::kSuccess)
    return driver_error(what, status);
  return {};
}

Result<uint64_t, Error> CudaDevice::allocate(uint64_t size_bytes, const AllocateOptions& options) {
  cuda::Pointer address = 0;
  const uint64_t bytes = std::max<uint64_t>(size_bytes, 1); // the driver refuses 0
  const Result<void, Error> done = call("cannot allocate device memory", [&] {
    const Status status = options.host_shared
                              ? driver->memory_allocate_managed(&address, bytes, cuda::kManagedGlobal)
                              : driver->memory_allocate(&address, bytes);
    return status == cuda::kSuccess ? driver->memory_set(address, options.poisoned ? kPoison : 0, bytes)
                                    : status;
  });
  if (!done)
    return Unexpected<Error>{done.error()};
  return uint64_t{address};
}

void CudaDevice::free(uint64_t address) {
  (void)call("cannot free device memory", [&] { return driver->memory_free(address); });
}

Result<void, Error> CudaDevice::register_host(std::byte* memory, uint64_t size_bytes, std::string) {
  {
    const std::scoped_lock lock(mutex_);
    HostRange* known = nullptr;
    bool inside = false;
    for (auto& [begin, range] : host_ranges_) {
      if (begin == memory && size_bytes <= range.size_bytes)
        known = &range;
      inside |= begin <= memory && memory + size_bytes <= begin + range.size_bytes;
    }
    if (known) {
      ++known->registrations;
      return {};
    }
    if (inside) {
      host_ranges_[memory] = {.size_bytes = size_bytes, .registrations = 1, .inside_another = true};
      return {};
    }
  }
  cuda::Pointer address = 0;
  const Result<void, Error> done = call("cannot register host memory", [&] {
    const Status status =
        driver->host_register(memory, size_bytes, cuda::kHostRegisterPortable | cuda::kHostRegisterDeviceMap);
    return status == cuda::kSuccess ? driver->host_get_device_pointer(&address, memory, 0) : status;
  });
  if (!done)
    return done;
  if (address != reinterpret_cast<uintptr_t>(memory)) {
    (void)call("cannot unregister host memory", [&] { return driver->host_unregister(memory); });
    return failure(ErrorKind::unavailable,
                   fmt::format("{} sees host memory at other addresses than the host", info.name));
  }
  const std::scoped_lock lock(mutex_);
  host_ranges_[memory] = {.size_bytes = size_bytes, .registrations = 1, .inside_another = false};
  return {};
}

Result<bool, Error> CudaDevice::unregister_host(std::byte* memory) {
  {
    const std::scoped_lock lock(mutex_);
    const auto found = host_ranges_.find(memory);
    if (found == host_ranges_.end())
      return false;
    if (--found->second.registrations > 0)
      return true;
    const bool driver_has_it = !found->second.inside_another;
    host_ranges_.erase(found);
    if (!driver_has_it)
      return true;
  }
  const Result<void, Error> done =
      call("cannot unregister host memory", [&] { return driver->host_unregister(memory); });
  if (!done)
    return Unexpected<Error>{done.error()};
  return true;
}

template <class F>
Result<void, Error> CudaDevice::access(const char* what, uint64_t address, uint64_t bytes, F f) {
  Status status = cuda::kSuccess;
  Result<void, Error> done = call(what, [&] { return status = f(); });
  if (status == cuda::kInvalidValue)
    return failure(
        ErrorKind::invalid_argument,
        fmt::format("{}: {} bytes at {:#x} do not lie inside one allocation", what, bytes, address));
  return done;
}

Result<void, Error> CudaDevice::write(uint64_t address, std::span<const std::byte> source) {
  return access("cannot copy to the device", address, source.size(),
                [&] { return driver->copy_to_device(address, source.data(), source.size()); });
}

Result<void, Error> CudaDevice::read(uint64_t address, std::span<std::byte> destination) {
  return access("cannot copy from the device", address, destination.size(),
                [&] { return driver->copy_from_device(destination.data(), address, destination.size()); });
}

Result<void, Error> CudaDevice::fill(uint64_t address, uint64_t bytes, uint8_t value) {
  return access("cannot fill device memory", address, bytes,
                [&] { return driver->memory_set(address, value, bytes); });
}

Result<void, Error> CudaDevice::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  return access("cannot copy on the device", to, bytes,
                [&] { return driver->copy_on_device(to, from, bytes); });
}

Result<std::array<std::byte, 128>, Error> CudaDevice::encode(const TensorMap& map) {
  struct alignas(64) {
    std::array<std::byte, 128> bytes{};
  } encoded;
  const Result<void, Error> done = call("the driver does not encode the tensor map", [&] {
    return cuda::encode_tensor_map(*driver, map, encoded.bytes.data());
  });
  if (!done)
    return Unexpected<Error>{done.error()};
  return encoded.bytes;
}

Result<cuda::ModuleHandle, CudaDevice::Refusal>
CudaDevice::load_image(const char* what, const std::string& image, unsigned optimization) {
  std::vector<char> log(16384);
  int options[] = {cuda::kJitErrorLogBuffer, cuda::kJitErrorLogBufferBytes, cuda::kJitOptimizationLevel};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size() - 1),
                    reinterpret_cast<void*>(size_t{optimization})};
  cuda::ModuleHandle handle = nullptr;
  Status status = cuda::kSuccess;
  const Result<void, Error> done = call(
      what, [&] { return status = driver->module_load_data_ex(&handle, image.c_str(), 3, options, values); });
  if (done)
    return handle;
  Refusal refusal{.status = status, .error = done.error(), .log = log.data()};
  while (!refusal.log.empty() && (refusal.log.back() == '\n' || refusal.log.back() == ' '))
    refusal.log.pop_back();
  if (status == cuda::kInvalidPtx)
    refusal.error.kind = ErrorKind::rejected;
  else if (status == cuda::kNoBinaryForGpu || status == cuda::kUnsupportedPtxVersion)
    refusal.error.kind = ErrorKind::unsupported; // text for another GPU or a later driver
  if (!refusal.log.empty())
    refusal.error.text += "\n" + refusal.log;
  return fail(std::move(refusal));
}

// What ptxas makes for the GPU of a text with the target: the target's suffix names features that the text
// may use, and stays.
std::string CudaDevice::machine_for(const isa::Target& target) const {
  return target.suffix ? info.target + target.suffix : info.target;
}

Result<cuda::ModuleHandle, CudaDevice::Refusal>
CudaDevice::load_assembled(const ptx::Module& module, const isa::Target& target, unsigned optimization,
                           const Refusal& refused, std::string& assembled_by) {
  const std::vector<std::string> paths = ptxas_paths();
  const std::string machine = machine_for(target);
  const auto made = assemble(paths, module.source->text(), machine, optimization);
  if (made) {
    auto loaded = load_image("the driver does not load what ptxas made", made->cubin, optimization);
    if (loaded)
      assembled_by = fmt::format("{} for {}", made->by, machine);
    else
      loaded.error().error.text += fmt::format("\nit is of {} for {}", made->by, machine);
    return loaded;
  }
  const std::string newest = newest_ptx_in(refused.log);
  std::string text = fmt::format("{} is PTX {}.{}, and the driver, of CUDA {}, takes {}",
                                 module.source->name(), module.version.major, module.version.minor,
                                 info.driver, newest.empty() ? "no PTX that new" : "PTX up to " + newest);
  for (const std::string& line : made.error())
    text += "\n  " + line;
  text +=
      paths.empty() ? "\n  no ptxas was found in PATH or /usr/local/cuda/bin, or by the variable PTXAS" : "";
  text += fmt::format(
      "\nto do: a ptxas of a later CUDA (PTXAS=FILE, or in PATH), with which Lemma assembles the text "
      "for {}; or a later driver; or `.version {}`, if the text uses nothing newer (`lemma verify` says)",
      machine, newest.empty() ? "9.0 or older" : newest);
  return fail(Refusal{.status = refused.status,
                      .error = {.kind = ErrorKind::unsupported,
                                .text = shortened(std::move(text), kLongestMessage),
                                .messages = {}},
                      .log = {}});
}

Result<std::shared_ptr<ModuleImpl>, Error> CudaDevice::load(std::shared_ptr<const ptx::Module> module, int,
                                                            unsigned optimization) {
  const std::string text(module->source->text()); // NUL-terminated, as the driver wants text
  const std::optional<isa::Target> target =
      module->targets.empty() ? std::nullopt : isa::parse_target(module->targets.front());
  const bool is_for_this = target && isa::runs_on(*target, sm); // else the driver's answer is the last
  std::string assembled_by;
  Result<cuda::ModuleHandle, Refusal> handle =
      load_image("the driver does not load the PTX text", text, optimization);
  if (!handle && handle.error().is_of_version() && is_for_this)
    handle = load_assembled(*module, *target, optimization, Refusal(handle.error()), assembled_by);
  if (!handle) {
    Error error = std::move(handle.error().error);
    if (target && !is_for_this)
      error.text += fmt::format("\n{} is for {}, which runs on {}; the GPU is {}", module->source->name(),
                                isa::to_string(*target), isa::machines_of(*target), info.target);
    return Unexpected<Error>{std::move(error)};
  }
  auto self = std::static_pointer_cast<CudaDevice>(shared_from_this());
  // Without optimization the driver's compiler fuses nothing.
  auto fusions = optimization == 0 ? std::vector<verify::Fusion>{} : verify::possible_fusions(*module);
  auto loaded = std::make_shared<CudaModule>(std::move(self), *handle, epoch(), std::move(fusions));
  loaded->arithmetic = info.target;
  loaded->assembled_by = std::move(assembled_by);
  return std::shared_ptr<ModuleImpl>(std::move(loaded));
}

CudaModule::~CudaModule() {
  if (epoch_ == device_->epoch())
    (void)device_->call("cannot unload a module", [&] { return device_->driver->module_unload(handle_); });
}

std::optional<uint64_t> CudaModule::address_of(const ptx::Variable& variable) {
  cuda::Pointer address = 0;
  size_t bytes = 0;
  const Result<void, Error> found = device_->call("cannot find a variable", [&] {
    return device_->driver->module_get_global(&address, &bytes, handle_, variable.name.c_str());
  });
  return found ? std::optional<uint64_t>(address) : std::nullopt;
}

Result<KernelResources, Error> CudaModule::resources_of(const KernelInfo& kernel) {
  const Driver& driver = *device_->driver;
  cuda::Function function = nullptr;
  int threads = 0, shared = 0, local = 0, registers = 0;
  const Result<void, Error> asked = device_->call("cannot ask for a kernel's resources", [&] {
    Status status = driver.module_get_function(&function, handle_, kernel.name.c_str());
    for (const auto& [attribute, value] :
         {std::pair(cuda::kFunctionMaxThreads, &threads), std::pair(cuda::kFunctionSharedBytes, &shared),
          std::pair(cuda::kFunctionLocalBytes, &local), std::pair(cuda::kFunctionRegisters, &registers)})
      if (status == cuda::kSuccess)
        status = driver.function_get_attribute(value, attribute, function);
    return status;
  });
  if (!asked)
    return Unexpected<Error>{asked.error()};
  return KernelResources{.static_shared_bytes = static_cast<uint64_t>(shared),
                         .local_bytes = static_cast<uint64_t>(local),
                         .registers = static_cast<uint32_t>(registers),
                         .max_threads = static_cast<uint32_t>(threads)};
}

Status CudaModule::enqueue(cuda::Function function, const KernelInfo& kernel, const LaunchConfig& config,
                           const std::vector<std::byte>& params) const {
  const Driver& driver = *device_->driver;
  if (config.shared_bytes > 0)
    if (const Status status = driver.function_set_attribute(function, cuda::kFunctionMaxDynamicSharedBytes,
                                                            static_cast<int>(config.shared_bytes));
        status != cuda::kSuccess)
      return status;
  std::vector<cuda::LaunchAttribute> attributes;
  const Dim3& cluster = config.cluster;
  if (uint64_t{cluster[0]} * cluster[1] * cluster[2] >
      8) // more than 8 CTAs is not portable, but sm_90 has 16
    if (const Status status =
            driver.function_set_attribute(function, cuda::kFunctionNonPortableClusterSize, 1);
        status != cuda::kSuccess)
      return status;
  if (cluster[0] != 0) {
    cuda::LaunchAttribute& attribute = attributes.emplace_back();
    attribute.id = cuda::kLaunchClusterDimension;
    std::copy(cluster.begin(), cluster.end(), attribute.value.cluster);
  }
  if (config.cooperative) {
    cuda::LaunchAttribute& attribute = attributes.emplace_back();
    attribute.id = cuda::kLaunchCooperative;
    attribute.value.cooperative = 1;
  }
  cuda::LaunchConfiguration launch{};
  std::copy(config.grid.begin(), config.grid.end(), launch.grid);
  std::copy(config.block.begin(), config.block.end(), launch.block);
  launch.shared_bytes = config.shared_bytes;
  launch.attributes = attributes.data();
  launch.attribute_count = static_cast<unsigned>(attributes.size());
  std::vector<void*> pointers;
  for (const Parameter& parameter : kernel.parameters)
    pointers.push_back(const_cast<std::byte*>(params.data() + parameter.offset_bytes));
  return driver.launch_kernel_ex(&launch, function, pointers.data(), nullptr);
}

Unexpected<Error> CudaModule::refused(const KernelInfo& kernel, Status status) const {
  const bool our_numbers = status == cuda::kInvalidValue || status == cuda::kLaunchOutOfResources ||
                           status == cuda::kCooperativeLaunchTooLarge || status == cuda::kInvalidClusterSize;
  return failure(our_numbers ? ErrorKind::invalid_argument : ErrorKind::unavailable,
                 fmt::format("{} does not launch kernel {}: {}", device_->info.name, kernel.name,
                             device_->driver->describe(status)));
}

// The driver's compiler may fuse multiplications and additions of the kernel, or of functions that it may
// call.
std::string CudaModule::fusion_warning(const KernelInfo& kernel) const {
  const auto pairs = std::count_if(fusions_.begin(), fusions_.end(), [&](const verify::Fusion& fusion) {
    const ptx::Function& function = ptx->functions[fusion.function];
    return !function.is_entry || function.name == kernel.name;
  });
  if (pairs == 0)
    return {};
  return fmt::format(
      "the driver may make one fma of {}: then the virtual GPU, which rounds twice, gives other bits "
      "(`lemma verify --verbose` lists them, and says how to keep them apart)",
      pairs == 1 ? "a mul and an add" : fmt::format("a mul and an add in {} places", pairs));
}

Result<void, Error> CudaModule::start(const KernelInfo& kernel, const LaunchConfig& config,
                                      const std::vector<std::byte>& params) {
  if (epoch_ != device_->epoch())
    return lost();
  const Result<cuda::Context, Error> context = device_->context();
  if (!context)
    return Unexpected<Error>{context.error()};
  const Driver& driver = *device_->driver;
  const Current current(driver, *context);
  cuda::Function function = nullptr;
  Status status = current.status;
  if (status == cuda::kSuccess)
    status = driver.module_get_function(&function, handle_, kernel.name.c_str());
  if (status == cuda::kSuccess)
    status = enqueue(function, kernel, config, params);
  if (fault_kind(status)) // of an earlier one
    return device_->driver_error("cannot launch", status);
  return status == cuda::kSuccess ? Result<void, Error>() : refused(kernel, status);
}

Result<Report, Error> CudaModule::launch(const KernelInfo& kernel, const LaunchConfig& config,
                                         std::vector<std::byte> params, LaunchHooks) {
  if (epoch_ != device_->epoch())
    return lost();
  const Result<cuda::Context, Error> context = device_->context();
  if (!context)
    return Unexpected<Error>{context.error()};
  const Driver& driver = *device_->driver;
  Status status = cuda::kSuccess;
  float milliseconds = 0;
  {
    const Current current(driver, *context);
    cuda::Function function = nullptr;
    cuda::Event begin = nullptr, end = nullptr;
    status = current.status;
    if (status == cuda::kSuccess)
      status = driver.module_get_function(&function, handle_, kernel.name.c_str());
    if (status == cuda::kSuccess)
      status = driver.event_create(&begin, 0);
    if (status == cuda::kSuccess)
      status = driver.event_create(&end, 0);
    if (status == cuda::kSuccess)
      status = driver.event_record(begin, nullptr);
    if (status == cuda::kSuccess)
      status = enqueue(function, kernel, config, params);
    if (status == cuda::kSuccess)
      status = driver.event_record(end, nullptr);
    if (status == cuda::kSuccess)
      status = driver.context_synchronize();
    if (status == cuda::kSuccess)
      status = driver.event_elapsed_time(&milliseconds, begin, end);
    if (begin)
      driver.event_destroy(begin);
    if (end)
      driver.event_destroy(end);
  }
  const std::optional<FaultKind> kind = fault_kind(status);
  if (status != cuda::kSuccess && !kind)
    return refused(kernel, status);

  Report report;
  report.device = device_->info.name;
  report.stats.seconds = milliseconds * 1e-3;
  if (config.max_instructions != 0)
    report.warnings.emplace_back("a GPU counts no instructions: the limit on them had no effect");
  if (config.observer || config.fidelity)
    report.warnings.emplace_back("a GPU tells nothing of what it executes: neither observer nor fidelity "
                                 "report had anything to say");
  if (std::string warning = fusion_warning(kernel); !warning.empty())
    report.warnings.push_back(std::move(warning));
  if (kind) {
    device_->lose_context();
    report.outcome = Outcome::fault;
    Fault fault;
    fault.kind = *kind;
    fault.message =
        fmt::format("kernel {} failed on {}: {}", kernel.name, device_->info.name, driver.describe(status));
    fault.notes.emplace_back(
        "note: device memory is lost; the virtual GPU (\"cpu\") names line, thread and address");
    report.fault = std::move(fault);
  }
  return report;
}

} // namespace

Result<std::shared_ptr<DeviceImpl>, Error> open_cuda_device(const DeviceOptions& options) {
  const Result<std::shared_ptr<const Driver>, Error> opened = Driver::open();
  if (!opened)
    return Unexpected<Error>{opened.error()};
  const Driver& driver = **opened;
  int count = 0;
  if (const Status status = driver.device_get_count(&count); status != cuda::kSuccess)
    return failure(ErrorKind::unavailable, fmt::format("cannot count GPUs: {}", driver.describe(status)));
  if (options.ordinal < 0 || options.ordinal >= count)
    return failure(ErrorKind::unavailable,
                   fmt::format("no GPU {}: the driver sees {}", options.ordinal, count));

  cuda::DeviceHandle handle = 0;
  char name[256] = {};
  int major = 0, minor = 0;
  Status status = driver.device_get(&handle, options.ordinal);
  if (status == cuda::kSuccess)
    status = driver.device_get_name(name, sizeof name - 1, handle);
  if (status == cuda::kSuccess)
    status = driver.device_get_attribute(&major, cuda::kAttributeComputeCapabilityMajor, handle);
  if (status == cuda::kSuccess)
    status = driver.device_get_attribute(&minor, cuda::kAttributeComputeCapabilityMinor, handle);
  if (status != cuda::kSuccess)
    return failure(ErrorKind::unavailable,
                   fmt::format("cannot ask GPU {}: {}", options.ordinal, driver.describe(status)));

  char bus[32] = {}; // a driver that does not say leaves it empty
  if (driver.device_get_pci_bus_id(bus, sizeof bus, handle) != cuda::kSuccess)
    bus[0] = 0;
  auto device = std::make_shared<CudaDevice>(*opened, handle);
  device->sm = major * 10 + minor;
  device->info = {.kind = "cuda",
                  .name = name,
                  .driver = driver.version(),
                  .target = fmt::format("sm_{}", device->sm),
                  .bus = bus};
  if (const Result<cuda::Context, Error> context = device->context(); !context)
    return Unexpected<Error>{context.error()};
  return std::shared_ptr<DeviceImpl>(std::move(device));
}

} // namespace lemma::runtime
