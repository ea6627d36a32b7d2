// Runs a PTX kernel on the virtual GPU for a test: text in, buffers and report out.
#pragma once

#include "vgpu/engine/scheduler.h"
#include "vgpu/memory/memory.h"

#include <cstring>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace lemma::vgpu {

class Kernel {
public:
  // `text` is a module, for sm_90a where it has no head (.version, .target, .address_size) of its own; its
  // first entry is the kernel. The test fails if it does not parse or load. `limit_bytes`: GlobalMemory's.
  explicit Kernel(const std::string& text, uint64_t limit_bytes = UINT64_MAX);
  ~Kernel();

  GlobalMemory& memory() { return memory_; }
  LaunchConfig& config() { return config_; }           // block defaults to one warp
  std::vector<std::byte>& params() { return params_; } // run() fills them in
  LaunchSurroundings& surroundings() { return surroundings_; }
  MachineLimits& limits() { return surroundings_.limits; } // an H200's
  const Code& code() const { return *entry_; }

  // Launches tell it what happens.
  void watch(Observer& observer) { surroundings_.observers.push_back(&observer); }

  // A buffer's address. Uninitialized ones are poisoned.
  uint64_t uninitialized_buffer(uint64_t bytes, std::string name = "buffer");
  template <class T>
  uint64_t buffer(const std::vector<T>& values, std::string name = "buffer") {
    const Allocation* allocation = memory_.allocate(values.size() * sizeof(T), std::move(name));
    std::memcpy(allocation->host, values.data(), values.size() * sizeof(T));
    return allocation->base;
  }
  template <class T>
  std::vector<T> read(uint64_t address, size_t count) {
    std::vector<T> values(count);
    const Allocation* allocation = memory_.find(address);
    std::memcpy(values.data(), allocation->host + (address - allocation->base), count * sizeof(T));
    return values;
  }

  // What check_launch() says of the configuration.
  std::string check();
  // Launches with 64-bit parameters.
  Report run(std::initializer_list<uint64_t> arguments);
  // The same while others run on the same memory: from several threads at once.
  Report run_beside(std::initializer_list<uint64_t> arguments);

private:
  GlobalMemory memory_;
  LaunchConfig config_;
  std::vector<std::byte> params_;
  LaunchSurroundings surroundings_;
  std::unique_ptr<Program> program_;
  const Code* entry_ = nullptr;
};

// What loading the module says, its notes in brackets; "" where it loads. For text as Kernel takes it.
std::string load_error(const std::string& text, int sm = 90);

// The fault; of a launch that finished an internal one, "no fault".
Fault fault_in(const Report& report);
// "out of bounds: <message>", or "" where the launch finished.
std::string fault_text(const Report& report);
// "<instruction>: <what> x<count>" a line for every reported read of what was never written.
std::string uninitialized_text(const Report& report);

} // namespace lemma::vgpu
