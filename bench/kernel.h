// A kernel written as PTX text, loaded on the virtual GPU and launched again and again. Aborts with the
// messages where the text is wrong: a benchmark that measures a failure is worse than none.
#pragma once

#include "ptx/module.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/scheduler.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::bench {

// Parsed and verified.
std::shared_ptr<const ptx::Module> load_module(std::string name, std::string text);

std::string read_file(const std::string& path);

// `.version`, `.target sm_90a` and `.address_size`.
std::string header();

class Kernel {
public:
  // The module's first entry that has `name` in its own. `params` is filled by the caller.
  Kernel(std::string text, std::string_view name);
  Kernel(const Kernel&) = delete;
  ~Kernel(); // what it leaves in memory is the row's result (moment.h)

  // Zeroed device memory, or a copy of `words`.
  uint64_t allocate(uint64_t bytes);
  uint64_t allocate(std::span<const uint32_t> words);
  // What was allocated at the address, where it lies on the host.
  template <class T>
  std::span<T> read(uint64_t address, size_t count) {
    return {reinterpret_cast<T*>(memory_.find(address)->host), count};
  }

  // Of the last run with launch.check: bytes that the checker remembers for each that was accessed, in global
  // memory and in the shared memory of one cluster.
  double remembered = 0;
  // Runs to the end; aborts on a fault. With launch.check by the checker, and aborts on a finding, too.
  const Stats& run();

  // Of the last run.
  const Stats& stats() const { return stats_; }
  // Of its warp instructions, the part that ran as compiled code.
  double compiled_share() const {
    return static_cast<double>(stats_.compiled_instructions.value_or(0)) /
           static_cast<double>(std::max<uint64_t>(stats_.warp_instructions.value_or(1), 1));
  }

  LaunchConfig launch;
  std::vector<std::byte> params;

private:
  vgpu::GlobalMemory memory_;
  std::vector<const vgpu::Allocation*> allocations_;
  std::unique_ptr<vgpu::Program> program_;
  const vgpu::Code* entry_ = nullptr;
  Stats stats_;
};

// Wall time of a run; CPU time of the thread that runs it.
double seconds_of(Kernel& kernel);
double cpu_seconds_of(Kernel& kernel);

// The rate of `work` a run on all cores, beside that of one worker, which takes turns with them.
void run_on_all_cores(benchmark::State& state, Kernel& kernel, double work, const std::string& unit);

// In turns with the checker and without; the rate of `work` in the fastest run with it, beside that without
// (check.cc). `before` each run.
void run_checked(
    benchmark::State& state, Kernel& kernel, double work, const std::string& unit,
    const std::function<void()>& before = [] {});

// Parameter bytes: the values one after the other, each aligned to its size; zeros follow.
template <class... T>
std::vector<std::byte> pack_params(T... values) {
  std::vector<std::byte> bytes(8 * sizeof...(T)); // no value is larger
  size_t end = 0;
  const auto append = [&](auto value) {
    end = (end + sizeof(value) - 1) / sizeof(value) * sizeof(value);
    std::memcpy(bytes.data() + end, &value, sizeof(value));
    end += sizeof(value);
  };
  (append(values), ...);
  return bytes;
}

} // namespace lemma::bench
