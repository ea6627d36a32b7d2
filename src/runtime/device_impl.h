// What a device is inside: the two classes that cpu_device.cc and cuda_device.cc implement. Everything that
// does not depend on the device (parsing, verifying, parameter layout, argument checks, messages) is done
// once, above them, in api.cc.
//
// Tests: tests/unit/runtime/.
#pragma once

#include "lemma/device.h"
#include "ptx/module.h"
#include "runtime/stream_checks.h"
#include "runtime/timeline.h"
#include "support/memory_budget.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lemma::runtime {

namespace cuda {
class Driver;
}

struct KernelInfo {
  std::string name;
  std::vector<Parameter> parameters;
  uint64_t parameter_bytes = 0; // up to the end of the last parameter
  Dim3 required_block{};        // .reqntid; 0: not given
  Dim3 required_cluster{};      // .reqnctapercluster; 0: not given
  bool reads_envreg = false;    // it, or what it calls: needs a cooperative launch on a GPU
  // It, or what it calls, reads a clock, prints or allocates: what it does follows not from memory alone.
  bool has_more_than_memory = false;
};

class DeviceImpl;

// What a launch asks of the host and tells it while it runs.
struct LaunchHooks {
  // Whether the host, or another kernel, may yet do what this one waits for.
  std::function<bool()> others_may_act;
  // Of a programmatic launch: what griddepcontrol.wait waits for; null: nothing.
  const std::atomic<bool>* prerequisites_done = nullptr;
  std::function<void()> dependents_may_start = {}; // called when griddepcontrol.launch_dependents says so
  check::Footprint* footprint = nullptr;           // to be filled; null: nobody asks
};

class ModuleImpl {
public:
  virtual ~ModuleImpl() = default;

  // No size of the configuration is zero, but for a cluster that neither the launch nor the kernel names.
  // `params` are parameter_bytes laid out by offset.
  virtual Result<Report, Error> launch(const KernelInfo& kernel, const LaunchConfig& config,
                                       std::vector<std::byte> params, LaunchHooks hooks) = 0;
  // The same in the legacy default stream, without waiting for its end, which nobody is told. "cuda" only.
  virtual Result<void, Error> start(const KernelInfo& kernel, const LaunchConfig& config,
                                    const std::vector<std::byte>& params);
  // But for what KernelInfo says.
  virtual Result<KernelResources, Error> resources_of(const KernelInfo& kernel) = 0;
  // Where a variable of the module's lies; none: the driver's assembler has dropped it.
  virtual std::optional<uint64_t> address_of(const ptx::Variable& variable) = 0;

  std::shared_ptr<DeviceImpl> device;
  std::shared_ptr<const ptx::Module> ptx;
  MemoryShare taken; // for `ptx`, of the device's budget
  std::vector<KernelInfo> kernels;
  std::vector<Variable> variables;
  std::vector<Message> messages;
  std::string target;       // of the text: "sm_90a"
  std::string arithmetic;   // "sm_90"
  std::string assembled_by; // see Module::assembled_by()
};

class DeviceImpl : public std::enable_shared_from_this<DeviceImpl> {
public:
  virtual ~DeviceImpl() = default;

  virtual Result<uint64_t, Error> allocate(uint64_t size_bytes, const AllocateOptions& options) = 0;
  virtual void free(uint64_t address) = 0;
  // The two steps of an allocation in the order of a stream: the address when it is asked for, the memory
  // when its turn comes. commit() fails with out_of_memory, and may be called again. Here the memory comes at
  // once.
  virtual Result<uint64_t, Error> reserve(uint64_t size_bytes, const AllocateOptions& options) {
    return allocate(size_bytes, options);
  }
  virtual Result<void, Error> commit(uint64_t /*address*/) { return {}; }
  // So many bytes will be freed when a stream comes to it, or have been.
  virtual void expect_free(uint64_t /*size_bytes*/) {}
  virtual void end_expected_free(uint64_t /*size_bytes*/) {}
  // Not null, not empty.
  virtual Result<void, Error> register_host(std::byte* memory, uint64_t size_bytes, std::string name) = 0;
  // False: nothing is registered there.
  virtual Result<bool, Error> unregister_host(std::byte* memory) = 0;
  // Error: invalid_argument if the range, which is not empty, does not lie inside one live allocation.
  virtual Result<void, Error> write(uint64_t address, std::span<const std::byte> source) = 0;
  virtual Result<void, Error> read(uint64_t address, std::span<std::byte> destination) = 0;
  virtual Result<void, Error> fill(uint64_t address, uint64_t bytes, uint8_t value) = 0;
  // From device memory to device memory; the ranges do not overlap.
  virtual Result<void, Error> copy(uint64_t to, uint64_t from, uint64_t bytes) = 0;
  // Words of 4 or 8 bytes, aligned: one store, that whoever sees it sees what came before; and a wait until
  // is_there(the word). Errors: as write(); unsupported; kernel_failed, if nobody writes what is waited for.
  virtual Result<void, Error> write_value(uint64_t address, uint64_t value, uint32_t bytes) = 0;
  virtual Result<void, Error> wait_value(uint64_t address, uint32_t bytes,
                                         const std::function<bool(uint64_t)>& is_there) = 0;
  // A map that breaks no rule.
  virtual Result<std::array<std::byte, 128>, Error> encode(const TensorMap& map) = 0;
  // `arch` is the number of LoadOptions::arch, 0 if it was empty; `optimization` is LoadOptions'.
  virtual Result<std::shared_ptr<ModuleImpl>, Error> load(std::shared_ptr<const ptx::Module> module, int arch,
                                                          unsigned optimization) = 0;
  // f() with the device's context current; it returns the driver's status, and `what` begins the text of what
  // becomes an error of it. "cuda" only.
  virtual Result<void, Error> with_driver(const char* what, const std::function<int(const cuda::Driver&)>& f);
  // Grows when a fault takes the context: what was made before is lost then.
  virtual uint64_t epoch() const { return 0; }
  // The host sees memory that has been made there: what it does with it is noted, if anybody asks.
  virtual void watch_host(uint64_t /*base*/) {}
  // Something has been done that a kernel may be waiting for.
  virtual void note_activity() {}
  // What it may take of the host's memory; null: it takes none to speak of.
  virtual MemoryBudget* budget() { return nullptr; }

  DeviceInfo info;
  std::unique_ptr<StreamChecks> stream_checks; // DeviceOptions::check_streams; null: nobody asks
  std::shared_ptr<HostWatch> host_watch;       // the same
  const std::shared_ptr<Timeline> timeline = std::make_shared<Timeline>([this] { note_activity(); });
};

Result<std::shared_ptr<DeviceImpl>, Error> open_cpu_device(const DeviceOptions& options);
Result<std::shared_ptr<DeviceImpl>, Error> open_cuda_device(const DeviceOptions& options);

// Error{kind, text} as the failure of any Result; a long text is cut.
Unexpected<Error> failure(ErrorKind kind, std::string text);
// What a callback of a launch asks for and cannot have.
Unexpected<Error> failure_in_callback();

} // namespace lemma::runtime
