// A launch from the caller's words to the finished report: what a call and a stream share.
//
// Tests: tests/unit/runtime/api_test.cc, stream_test.cc.
#pragma once

#include "runtime/device_impl.h"

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace lemma::runtime {

// What a launch needs until it has ended.
struct PreparedLaunch {
  std::shared_ptr<ModuleImpl> module;
  const KernelInfo* kernel = nullptr; // of `module`
  LaunchConfig config;
  std::vector<std::byte> params;
};

// Error: invalid_argument, if the arguments do not fit the kernel.
Result<PreparedLaunch, Error> prepare(std::shared_ptr<ModuleImpl> module, size_t kernel,
                                      const LaunchConfig& config, std::span<const Argument> arguments);

// Runs it on this thread. See Kernel::launch().
Result<Report, Error> run(PreparedLaunch launch, LaunchHooks hooks);

// The same for the launch of an operation: what it uses is compared with what others do (StreamChecks).
Result<Report, Error> run_noted(PreparedLaunch launch, LaunchHooks hooks,
                                const Timeline::Operation& operation);

} // namespace lemma::runtime
