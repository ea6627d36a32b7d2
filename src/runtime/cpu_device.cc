// The virtual GPU as a device: src/vgpu behind the interface of device_impl.h.
//
// Tests: tests/unit/runtime/api_test.cc, tests/cli/.
#include "check/checker.h"
#include "check/footprint.h"
#include "isa/machine.h"
#include "layout/tensor_map.h"
#include "ptx/attributes.h"
#include "runtime/device_impl.h"
#include "runtime/executed_forms.h"
#include "runtime/kernel_info.h"
#include "runtime/launch_watcher.h"
#include "runtime/reachable_memory.h"
#include "runtime/repeats.h"
#include "runtime/report_text.h"
#include "runtime/texture_maker.h"
#include "support/host_pages.h"
#include "support/in_parts.h"
#include "verify/lint.h"
#include "verify/verify.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/launch_check.h"
#include "vgpu/engine/patience.h"
#include "vgpu/engine/scheduler.h"
#include "vgpu/memory/memory.h"
#include "vgpu/memory/poison.h"
#include "vgpu/memory/racing_copy.h"
#include "vgpu/memory/texture_objects.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <type_traits>
#include <utility>

namespace lemma::runtime {
namespace {

class CpuDevice;

class CpuModule final : public ModuleImpl {
public:
  CpuModule(std::shared_ptr<CpuDevice> device, std::unique_ptr<vgpu::Program> program, uint64_t number)
      : device_(std::move(device)), program_(std::move(program)), number_(number) {}
  ~CpuModule() override;

  Result<Report, Error> launch(const KernelInfo& kernel, const LaunchConfig& config,
                               std::vector<std::byte> params, LaunchHooks hooks) override;
  Result<KernelResources, Error> resources_of(const KernelInfo& kernel) override;
  std::optional<uint64_t> address_of(const ptx::Variable& variable) override {
    const vgpu::Allocation* allocation = program_->allocation_of(variable);
    return allocation ? std::optional(allocation->base) : std::nullopt;
  }

private:
  static Report run(CpuDevice& device, const vgpu::Program& program, const vgpu::Code& entry,
                    const LaunchConfig& config, std::vector<std::byte> params, LaunchHooks hooks,
                    std::string_view arithmetic, const std::string& doubt);
  // What a run of the kernel that is not checked is to say of registers in flight; found once.
  const std::string& doubt_of(const vgpu::Code& entry);
  std::string repeat_key(const KernelInfo& kernel, const LaunchConfig& config,
                         std::span<const std::byte> params, const LaunchHooks& hooks) const;

  std::shared_ptr<CpuDevice> device_; // before program_: the program's variables lie in its memory
  std::shared_ptr<vgpu::Program> program_;
  const uint64_t number_; // of the device's modules
  std::mutex doubts_mutex_;
  std::map<const vgpu::Code*, std::string> doubts_;
};

class CpuDevice final : public DeviceImpl, public TextureMaker {
public:
  CpuDevice(uint64_t max_memory_bytes, std::chrono::nanoseconds patience)
      : memory(max_memory_bytes), patience(patience) {}
  ~CpuDevice() override {
    if (host_watch)
      host_watch->forget_all();
  }

  Result<uint64_t, Error> allocate(uint64_t size_bytes, const AllocateOptions& options) override {
    const Repeats::Use use(repeats.get(), true);
    const vgpu::Allocation* allocation = options.host_shared
                                             ? memory.allocate_host_shared(size_bytes, options.name)
                                             : memory.allocate(size_bytes, options.name, options.poisoned);
    if (!allocation)
      return failure(ErrorKind::out_of_memory,
                     fmt::format("the host has no memory for {} bytes", size_bytes));
    if (options.host_shared) {
      reachable.add_shared(allocation->base);
      watch_host(allocation->base, options.poisoned);
    } else {
      reachable.add(allocation->base, allocation->size_bytes);
    }
    if (stream_checks)
      stream_checks->memory_is_new(allocation->base, allocation->size_bytes);
    return allocation->base;
  }
  // What is refused here would not be there when its turn comes: not even with what streams will free first.
  Result<uint64_t, Error> reserve(uint64_t size_bytes, const AllocateOptions& options) override {
    const MemoryBudget& budget = memory.budget();
    const uint64_t used = budget.in_use() + memory.promised_bytes();
    const uint64_t going = std::min(used, memory.retiring_bytes() + expected_bytes);
    if (size_bytes > budget.limit_bytes() || used - going > budget.limit_bytes() - size_bytes)
      return failure(ErrorKind::out_of_memory, budget.refusal(size_bytes, options.name));
    uint64_t ends = timeline->ends();
    const vgpu::Allocation* allocation = memory.reserve(size_bytes, options.name);
    while (!allocation && expected_bytes != 0 && !Timeline::in_callback() &&
           timeline->wait_for_another_end(ends, true)) { // addresses come back too
      ends = timeline->ends();
      allocation = memory.reserve(size_bytes, options.name);
    }
    if (!allocation)
      return failure(ErrorKind::out_of_memory,
                     fmt::format("the device has no addresses for {} bytes", size_bytes));
    if (options.poisoned) {
      const std::scoped_lock lock(promised_mutex);
      poisoned_promises.insert(allocation->base);
    }
    return allocation->base;
  }
  Result<void, Error> commit(uint64_t address) override {
    const Repeats::Use use(repeats.get(), true);
    if (!memory.commit(address))
      return failure(ErrorKind::out_of_memory, "the host has no memory left");
    const vgpu::GlobalMemory::Users user(memory, 1);
    if (vgpu::Allocation* allocation = memory.find(address)) {
      if (end_promise(address))
        poison(*allocation);
      reachable.add(address, allocation->size_bytes);
      if (stream_checks)
        stream_checks->memory_is_new(address, allocation->size_bytes);
    }
    return {};
  }
  void expect_free(uint64_t size_bytes) override { expected_bytes += size_bytes; }
  void end_expected_free(uint64_t size_bytes) override { expected_bytes -= size_bytes; }

  void watch_host(uint64_t base) override { watch_host(base, false); }
  // `poisoned`: what is written there is remembered, as far as it can be seen.
  void watch_host(uint64_t base, bool poisoned) {
    const vgpu::GlobalMemory::Users user(memory, 1);
    vgpu::Allocation* allocation = host_watch ? memory.find(base) : nullptr;
    if (allocation && host_watch->watch(*allocation) && poisoned)
      allocation->init = std::make_unique<vgpu::WrittenBytes>(allocation->size_bytes);
  }
  void free(uint64_t address) override {
    const Repeats::Use use(repeats.get(), true);
    reachable.remove(address);
    end_promise(address);
    const HostWatch::Ended watched = host_watch ? host_watch->forget(address) : HostWatch::Ended();
    memory.free(address, watched.alias ? std::function<void()>([watched] { watched.let_go(); }) : nullptr);
  }
  Result<void, Error> register_host(std::byte* host, uint64_t size_bytes, std::string name) override {
    const Writable writable = writable_part(host, size_bytes);
    if (writable == Writable::some)
      return failure(
          ErrorKind::invalid_argument,
          fmt::format("of the {} bytes at {:#x} the host may write a part alone: register that and "
                      "the rest apart",
                      size_bytes, reinterpret_cast<uintptr_t>(host)));
    const Repeats::Use use(repeats.get(), true);
    reachable.add_shared(reinterpret_cast<uintptr_t>(host));
    memory.register_host(host, size_bytes, std::move(name), writable == Writable::none);
    return {};
  }
  Result<bool, Error> unregister_host(std::byte* host) override {
    const Repeats::Use use(repeats.get(), true);
    reachable.remove(reinterpret_cast<uintptr_t>(host));
    return memory.unregister_host(reinterpret_cast<uintptr_t>(host));
  }

  Result<void, Error> write(uint64_t address, std::span<const std::byte> source) override {
    return with(Change::some, address, source.size(), [&](vgpu::Allocation& allocation, uint64_t offset) {
      copy_in_parts(allocation.host + offset, source.data(), source.size());
      if (allocation.init)
        allocation.init->set(offset, source.size());
    });
  }
  Result<void, Error> read(uint64_t address, std::span<std::byte> destination) override {
    return with(Change::none, address, destination.size(),
                [&](const vgpu::Allocation& allocation, uint64_t offset) {
                  copy_in_parts(destination.data(), allocation.host + offset, destination.size());
                });
  }
  Result<void, Error> fill(uint64_t address, uint64_t bytes, uint8_t value) override {
    return with(Change::some, address, bytes, [&](vgpu::Allocation& allocation, uint64_t offset) {
      in_parts_aside(bytes, [&](uint64_t begin, uint64_t count) {
        vgpu::fill_racing(allocation.host + offset + begin, value, count);
      });
      if (allocation.init)
        allocation.init->set(offset, bytes);
    });
  }
  Result<void, Error> copy(uint64_t to, uint64_t from, uint64_t bytes) override {
    return with(Change::some, to, bytes, [&](vgpu::Allocation& target, uint64_t to_offset) {
      return with(Change::none, from, bytes, [&](vgpu::Allocation& source, uint64_t from_offset) {
        copy_in_parts(target.host + to_offset, source.host + from_offset, bytes);
        copy_what_is_written(target, to_offset, source, from_offset, bytes);
      });
    });
  }
  Result<void, Error> write_value(uint64_t address, uint64_t value, uint32_t bytes) override {
    return with(Change::some, address, bytes, [&](vgpu::Allocation& allocation, uint64_t offset) {
      std::byte* word = allocation.host + offset;
      if (bytes == 8)
        __atomic_store_n(reinterpret_cast<uint64_t*>(word), value, __ATOMIC_SEQ_CST);
      else
        __atomic_store_n(reinterpret_cast<uint32_t*>(word), static_cast<uint32_t>(value), __ATOMIC_SEQ_CST);
      if (allocation.init)
        allocation.init->set(offset, bytes);
    });
  }
  Result<void, Error> wait_value(uint64_t address, uint32_t bytes,
                                 const std::function<bool(uint64_t)>& is_there) override;
  Result<std::array<std::byte, 128>, Error> encode(const TensorMap& map) override {
    if (chosen_arch != 0 && layout::map_reader(chosen_arch) == layout::MapReader::sm_90 &&
        layout::has_atoms(map.swizzle))
      return failure(ErrorKind::invalid_argument,
                     fmt::format("tensor map: swizzle {}: sm_100 and up have it, the device is sm_{}",
                                 layout::swizzle_word(map.swizzle), chosen_arch));
    return layout::encode(map);
  }
  Result<uint64_t, Error> add_texture(const texture::Object& object) override {
    const Repeats::Use use(repeats.get(), true);
    const uint64_t handle = vgpu::add_texture_object(memory, object);
    if (handle == 0)
      return failure(ErrorKind::out_of_memory, "the host has no memory for a texture or surface object");
    return handle;
  }
  void remove_texture(uint64_t handle) override {
    const Repeats::Use use(repeats.get(), true);
    const vgpu::GlobalMemory::Users user(memory, 1);
    vgpu::remove_texture_object(memory, handle);
  }
  Result<std::shared_ptr<ModuleImpl>, Error> load(std::shared_ptr<const ptx::Module> module, int arch,
                                                  unsigned) override;

  MemoryBudget* budget() override { return &memory.budget(); }

  vgpu::GlobalMemory memory;
  ReachableMemory reachable{memory};
  std::unique_ptr<Repeats> repeats;                     // DeviceOptions::skip_repeats; null: all launches run
  std::atomic<uint64_t> modules{0};                     // that have been loaded
  int chosen_arch = 0;                                  // DeviceOptions::arch; 0: it was empty
  std::atomic<uint64_t> expected_bytes{0};              // that streams will free
  std::function<void(const RunningLaunch&)> on_running; // DeviceOptions::on_running
  std::atomic<uint64_t> running_ids{0};

  void note_activity() override { memory.note_activity(); }
  // Memory that reserve() has promised, and that nobody will have written.
  std::mutex promised_mutex;
  std::set<uint64_t> poisoned_promises;
  bool end_promise(uint64_t address) {
    const std::scoped_lock lock(promised_mutex);
    return poisoned_promises.erase(address) != 0;
  }

  const std::chrono::nanoseconds patience; // DeviceOptions::patience_seconds

private:
  // As GlobalMemory::allocate() does: the bytes of seed 0, until it is another.
  static void poison(vgpu::Allocation& allocation) {
    allocation.taken.take((allocation.size_bytes + 7) / 8, allocation.name);
    allocation.init = std::make_unique<vgpu::WrittenBytes>(allocation.size_bytes);
    vgpu::poison(allocation.host, vgpu::poison_key(0, vgpu::Poisoned::global, allocation.base), 0,
                 allocation.size_bytes);
  }

  // f(begin, count) for parts of a range, by several threads, whose accesses are not the host's own.
  template <class F>
  void in_parts_aside(uint64_t bytes, const F& f) {
    in_parts(bytes, [&](uint64_t begin, uint64_t count) {
      std::optional<HostWatch::Aside> aside;
      if (host_watch)
        aside.emplace();
      f(begin, count);
    });
  }
  void copy_in_parts(std::byte* to, const std::byte* from, uint64_t bytes) {
    in_parts_aside(
        bytes, [=](uint64_t begin, uint64_t count) { vgpu::copy_racing(to + begin, from + begin, count); });
  }

  enum class Change : uint8_t { none, some };
  // f(the allocation that the range lies in, the offset there).
  template <class F>
  Result<void, Error> with(Change change, uint64_t address, uint64_t bytes, F&& f) {
    const Repeats::Use use(repeats.get(), change == Change::some);
    if (use.failed())
      return Unexpected<Error>{*use.failed()};
    const vgpu::GlobalMemory::Users user(memory, 1);
    vgpu::Allocation* allocation = memory.find(address);
    if (!allocation || !allocation->holds(address, bytes))
      return failure(ErrorKind::invalid_argument,
                     fmt::format("{} bytes at {:#x} do not lie inside one allocation", bytes, address));
    if (allocation->init && host_watch)
      host_watch->find_written(*allocation);
    if constexpr (std::is_void_v<decltype(f(*allocation, uint64_t{}))>) {
      f(*allocation, address - allocation->base);
      return {};
    } else {
      return f(*allocation, address - allocation->base);
    }
  }

  // What was never written stays so where it is copied to.
  static void copy_what_is_written(vgpu::Allocation& to, uint64_t to_offset, const vgpu::Allocation& from,
                                   uint64_t from_offset, uint64_t bytes) {
    if (!to.init)
      return;
    to.init->set(to_offset, bytes);
    if (!from.init)
      return;
    for (uint64_t begin = 0; begin < bytes;) {
      const uint64_t first = from.init->first_unset(from_offset + begin, bytes - begin) - from_offset;
      const uint64_t end = from.init->first_set(from_offset + first, bytes - first) - from_offset;
      to.init->unset_range(to_offset + first, end - first);
      begin = end;
    }
  }
};

// The module's variables go with it: a launch of another module may be using them. What the task holds stays
// until it has run.
CpuModule::~CpuModule() {
  try {
    const Repeats::Use use(device_->repeats.get(), true);
    if (ptx) // or nobody has been given the module
      for (const ptx::Variable& variable : ptx->variables)
        if (const std::optional<uint64_t> address = address_of(variable))
          device_->reachable.remove(*address);
    std::vector<HostWatch::Ended> watched;
    for (const Variable& variable : variables)
      if (device_->host_watch && variable.is_managed)
        watched.push_back(device_->host_watch->forget(variable.address));
    using Kept = std::pair<std::shared_ptr<CpuDevice>, std::shared_ptr<vgpu::Program>>; // which goes first
    device_->timeline->after_all([kept = std::make_shared<const Kept>(device_, program_), watched] {
      for (const HostWatch::Ended& each : watched)
        each.let_go();
    });
  } catch (const std::bad_alloc&) { // no room to remember it: `program_` goes now
  }
}

// What a module wants that no machine here has, and what to do; empty: nothing.
std::string why_not_modelled(const ptx::Module& module, std::string_view machine, bool is_modelled,
                             bool chosen) {
  const int oldest = isa::modelled_machines().front().sm;
  if (module.address_size_bits == 32)
    return fmt::format(
        "the module has 32-bit addresses (.address_size 32), which no GPU from sm_75 on has, nor the "
        "virtual one: compile it for 64 bits (nvcc -m64, .address_size 64){}",
        is_modelled ? ""
                    : fmt::format(", and run it with --arch sm_{}: {} is not modelled", oldest, machine));
  if (is_modelled)
    return {};
  if (const auto target = isa::parse_target(machine); target && target->sm > oldest)
    return fmt::format("{} is not known here; sm_{} to sm_{} are: compile the program for one of them",
                       machine, oldest, isa::modelled_machines().back().sm);
  return fmt::format(
      "{} is not modelled; sm_{} and later are{}", machine, oldest,
      chosen ? ""
             : fmt::format(", and run what was made for an older one: --arch sm_{0} (LoadOptions::arch), or "
                           "LEMMA_ARCH=sm_{0} in the environment of a program that runs by itself",
                           oldest));
}

Result<std::shared_ptr<ModuleImpl>, Error> CpuDevice::load(std::shared_ptr<const ptx::Module> module,
                                                           int arch, unsigned) {
  const std::string target = module->targets.empty() ? "" : module->targets.front();
  if (arch == 0)
    arch = chosen_arch;
  const int number = arch ? arch : arch_number(target);
  const std::optional<numeric::Arch> machine = isa::arithmetic_of(number);
  if (std::string why = why_not_modelled(*module,
                                         arch             ? fmt::format("sm_{}", arch)
                                         : target.empty() ? "a module without .target"
                                                          : target,
                                         machine.has_value(), arch != 0);
      !why.empty())
    return failure(ErrorKind::unsupported, std::move(why));
  if (const Diagnostics refused = verify::refuse_on_machine(*module, number); !refused.empty()) {
    Error error{.kind = ErrorKind::rejected, .text = refused.front().message, .messages = {}};
    for (const Diagnostic& diagnostic : refused)
      error.messages.push_back(to_message(diagnostic, *module->source));
    return Unexpected<Error>{std::move(error)};
  }
  Result<std::unique_ptr<vgpu::Program>, Diagnostic> program =
      vgpu::Program::load(module, memory, vgpu::Arch{number});
  if (!program) {
    const Message message = to_message(program.error(), *module->source);
    const ErrorKind kind = message.severity == Severity::unsupported ? ErrorKind::unsupported
                           : message.severity == Severity::internal  ? ErrorKind::internal
                                                                     : ErrorKind::rejected;
    return Unexpected<Error>{{.kind = kind, .text = message.text, .messages = {message}}};
  }
  auto self = std::static_pointer_cast<CpuDevice>(shared_from_this());
  const Repeats::Use use(repeats.get(), true);
  for (const ptx::Variable& variable : module->variables)
    if (const vgpu::Allocation* allocation = (*program)->allocation_of(variable)) {
      if (ptx::is_managed(variable))
        reachable.add_shared(allocation->base);
      else
        reachable.add(allocation->base, allocation->size_bytes);
    }
  // What kernels get from malloc is reached by addresses in memory, and is not among the allocations.
  if (std::ranges::any_of(module->functions, [](const ptx::Function& function) {
        return !function.has_body && function.name == "malloc";
      }))
    reachable.add_shared(vgpu::kGlobalEnd);
  auto loaded = std::make_shared<CpuModule>(std::move(self), std::move(*program), ++modules);
  assert(machine); // or it is not modelled
  loaded->arithmetic = numeric::to_string(*machine);
  return std::shared_ptr<ModuleImpl>(std::move(loaded));
}

Result<KernelResources, Error> CpuModule::resources_of(const KernelInfo& kernel) {
  const vgpu::Code* entry = program_->find(kernel.name);
  if (!entry)
    return failure(ErrorKind::internal, fmt::format("kernel {} was not decoded", kernel.name));
  KernelResources resources;
  resources.static_shared_bytes = program_->static_shared_bytes(*entry) - vgpu::kSharedReservedBytes;
  resources.local_bytes = entry->local_bytes;
  resources.max_threads = vgpu::limits_of(program_->arch()).max_threads_per_cta;
  const ptx::LaunchBounds& bounds = entry->function->bounds;
  for (const std::array<uint32_t, 3>& declared : {bounds.maxntid, bounds.reqntid})
    if (declared[0] != 0)
      resources.max_threads = std::min(resources.max_threads,
                                       declared[0] * std::max(declared[1], 1u) * std::max(declared[2], 1u));
  return resources;
}

// Where not all CTAs were watched, what orders two clusters may have gone through one that was not.
void doubt_between_clusters(std::vector<Finding>& findings, const LaunchConfig& config) {
  const auto same_cluster = [&](const Dim3& a, const Dim3& b) {
    for (size_t i = 0; i < 3; ++i)
      if (a[i] / std::max(config.cluster[i], 1u) != b[i] / std::max(config.cluster[i], 1u))
        return false;
    return true;
  };
  for (Finding& finding : findings)
    if (finding.earlier && !finding.is_note && !same_cluster(finding.access.cta, finding.earlier->cta)) {
      finding.is_note = true;
      finding.message += "; but not all CTAs were watched (--check-ctas), and one may have ordered the two";
    }
}

Result<Report, Error> CpuModule::launch(const KernelInfo& kernel, const LaunchConfig& config,
                                        std::vector<std::byte> params, LaunchHooks hooks) {
  const vgpu::Code* entry = program_->find(kernel.name);
  if (!entry)
    return failure(ErrorKind::internal, fmt::format("kernel {} was not decoded", kernel.name));
  if (std::string wrong =
          vgpu::check_launch(*program_, *entry, config, params.size(), vgpu::limits_of(program_->arch()));
      !wrong.empty())
    return failure(ErrorKind::invalid_argument, std::move(wrong));
  const std::string& doubt = doubt_of(*entry);
  if (!device_->repeats)
    return run(*device_, *program_, *entry, config, std::move(params), std::move(hooks), arithmetic, doubt);
  Repeats::Launch launch{.key = repeat_key(kernel, config, params, hooks)};
  if (!launch.key.empty()) // the device has it, and may have it when this module is gone
    launch.later = [device = device_.get(), program = program_, entry, config, params] {
      return Result<Report, Error>(run(*device, *program, *entry, config, params, {}, {}, {}));
    };
  launch.now = [&] {
    return Result<Report, Error>(
        run(*device_, *program_, *entry, config, std::move(params), std::move(hooks), arithmetic, doubt));
  };
  return device_->repeats->launch(std::move(launch));
}

// Empty: what the launch does follows not from these and memory alone, or somebody looks on.
std::string CpuModule::repeat_key(const KernelInfo& kernel, const LaunchConfig& config,
                                  std::span<const std::byte> params, const LaunchHooks& hooks) const {
  if (kernel.has_more_than_memory || config.programmatic || config.schedule != 0 || config.check ||
      config.observer || config.stop || config.progress || hooks.footprint ||
      config.on_fault != OnFault::stop)
    return {};
  std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} ", number_, kernel.name,
                                fmt::join(config.grid, ","), fmt::join(config.block, ","),
                                fmt::join(config.cluster, ","), config.shared_bytes, config.cooperative,
                                config.seed, config.deterministic, static_cast<int>(config.async),
                                config.max_instructions, config.count_accesses, config.fidelity);
  key.append(reinterpret_cast<const char*>(params.data()), params.size());
  return key;
}

// Of a kernel that touches registers while wgmma has them in flight, what a run that is not checked is to
// say; empty of any other.
std::string registers_in_flight(const vgpu::Program& program, const vgpu::Code& entry) {
  if (!entry.has_wgmma || entry.function->instructions.empty())
    return {};
  const ptx::Module& module = program.module();
  const auto& instructions = entry.function->instructions;
  const Diagnostic* first = nullptr;
  size_t count = 0;
  const Diagnostics found = verify::lint(module);
  for (const Diagnostic& diagnostic : found)
    if ((diagnostic.id == "wgmma.inflight" || diagnostic.id == "wgmma.wait") &&
        diagnostic.range.begin >= instructions.front().range.begin &&
        diagnostic.range.end <= instructions.back().range.end && count++ == 0)
      first = &diagnostic;
  if (!first)
    return {};
  const std::string others = count == 1   ? ""
                             : count == 2 ? ", and so in another place"
                                          : fmt::format(", and so in {} others", count - 1);
  return fmt::format(
      "line {}: {}{}: this run waits for it there; ptxas makes code that does, or, of a loop that it "
      "unrolls, code that leaves products out. The PTX ISA asks for a wait ({}, an error with --check)",
      module.source->line_column(first->range.begin).line, first->message, others, first->id);
}

const std::string& CpuModule::doubt_of(const vgpu::Code& entry) {
  const std::scoped_lock lock(doubts_mutex_);
  const auto [at, is_new] = doubts_.try_emplace(&entry);
  if (is_new)
    at->second = registers_in_flight(*program_, entry);
  return at->second;
}

Report CpuModule::run(CpuDevice& device, const vgpu::Program& program, const vgpu::Code& entry,
                      const LaunchConfig& config, std::vector<std::byte> params, LaunchHooks hooks,
                      std::string_view arithmetic, const std::string& doubt) {
  vgpu::LaunchSurroundings surroundings{.limits = vgpu::limits_of(program.arch()),
                                        .others_may_act = std::move(hooks.others_may_act),
                                        .patience = device.patience,
                                        .prerequisites_done = hooks.prerequisites_done,
                                        .dependents_may_start = std::move(hooks.dependents_may_start)};
  const vgpu::GlobalMemory::Users speaker(device.memory, 0); // of what is freed before all is reported
  if (device.host_watch)
    device.host_watch->find_written();
  std::optional<uint64_t> running_id;
  if (device.on_running)
    surroundings.on_running = [&](RunningLaunch running) {
      if (!running_id)
        running_id = ++device.running_ids;
      running.id = *running_id;
      device.on_running(running);
    };
  std::optional<check::Checker> checker;
  if (config.check)
    surroundings.observers.push_back(&checker.emplace());
  std::optional<LaunchWatcher> watcher;
  std::vector<vgpu::Observer*>& observers_of_all = surroundings.observers_of_all;
  if (config.observer)
    observers_of_all.push_back(&watcher.emplace(*config.observer, program, arithmetic));
  std::optional<check::FootprintObserver> footprint;
  if (hooks.footprint)
    observers_of_all.push_back(&footprint.emplace(*hooks.footprint));
  std::optional<ExecutedForms> forms;
  if (config.fidelity)
    observers_of_all.push_back(&forms.emplace(program));
  Report report =
      vgpu::run_launch(program, entry, device.memory, config, std::move(params), std::move(surroundings));
  if (running_id)
    device.on_running({.id = *running_id, .kernel = entry.function->name, .has_ended = true});
  if (checker)
    report.findings = checker->findings();
  if (forms)
    report.forms = forms->forms();
  if (!doubt.empty() && !config.check)
    report.warnings.push_back(doubt);
  uint64_t ctas = 1;
  for (size_t i = 0; i < 3; ++i)
    ctas *= uint64_t{config.grid[i]} * (entry.function->bounds.blocks_are_clusters ? config.cluster[i] : 1);
  if (config.check_ctas != 0 && report.checked_ctas < ctas)
    doubt_between_clusters(report.findings, config);
  report.device = device.info.name;
  return report;
}

// "buf + 0x40", for messages.
std::string name_of_memory(vgpu::GlobalMemory& memory, uint64_t address) {
  const vgpu::GlobalMemory::Users user(memory, 1);
  const vgpu::Allocation* allocation = memory.find(address);
  if (!allocation)
    allocation = memory.nearest(address); // freed since
  if (!allocation || !allocation->holds(address, 1))
    return fmt::format("{:#x}", address);
  return fmt::format("{} + {:#x}", allocation->name.empty() ? "a buffer" : allocation->name,
                     address - allocation->base);
}

// Looks again and again: the host's stores tell nobody.
Result<void, Error> CpuDevice::wait_value(uint64_t address, uint32_t bytes,
                                          const std::function<bool(uint64_t)>& is_there) {
  vgpu::Patience waits([] { return true; }, patience, memory); // the host may always act
  while (true) {
    uint64_t word = 0;
    const auto look = [&](const vgpu::Allocation& allocation, uint64_t offset) {
      const std::byte* at = allocation.host + offset;
      word = bytes == 8 ? __atomic_load_n(reinterpret_cast<const uint64_t*>(at), __ATOMIC_SEQ_CST)
                        : __atomic_load_n(reinterpret_cast<const uint32_t*>(at), __ATOMIC_SEQ_CST);
    };
    if (Result<void, Error> looked = with(Change::none, address, bytes, look); !looked || is_there(word))
      return looked;
    const std::optional<std::chrono::nanoseconds> pause = waits.next_pause();
    if (!pause)
      return failure(
          ErrorKind::kernel_failed,
          fmt::format("a stream waits for a value at {} (now {:#x}) that nobody writes: nothing has happened "
                      "on the device for {} s",
                      name_of_memory(memory, address), word,
                      std::chrono::duration<double>(patience).count()));
    std::this_thread::sleep_for(*pause);
  }
}

} // namespace

Result<std::shared_ptr<DeviceImpl>, Error> open_cpu_device(const DeviceOptions& options) {
  const int arch = arch_number(options.arch);
  if (arch == 0 && !options.arch.empty())
    return no_such_arch(options.arch);
  if (!(options.patience_seconds >= 0))
    return failure(ErrorKind::invalid_argument,
                   fmt::format("a patience of {} s: it is 0 or more", options.patience_seconds));
  constexpr double kLongestSeconds = 1e9; // 30 years
  const auto patience = std::chrono::nanoseconds(
      static_cast<int64_t>(std::min(options.patience_seconds, kLongestSeconds) * 1e9));
  auto device = std::make_shared<CpuDevice>(
      options.max_memory_bytes ? options.max_memory_bytes : default_max_memory_bytes(), patience);
  device->info = {.kind = "cpu",
                  .name = "virtual GPU",
                  .driver = "",
                  .target = fmt::format("sm_{}", arch ? arch : vgpu::Arch{}.sm)};
  device->chosen_arch = arch;
  device->on_running = options.on_running;
  if (options.skip_repeats)
    device->repeats = std::make_unique<Repeats>(device->reachable);
  if (options.check_streams) {
    device->host_watch = std::make_shared<HostWatch>();
    device->timeline->keep_order(device->host_watch);
    device->stream_checks = std::make_unique<StreamChecks>(
        [&memory = device->memory](uint64_t address) { return name_of_memory(memory, address); });
  }
  return std::shared_ptr<DeviceImpl>(std::move(device));
}

} // namespace lemma::runtime
