// What the opaque handles of the C API are.
//
// Tests: tests/unit/capi/.
#pragma once

#include "capi/arena.h"
#include "lemma/device.h"
#include "lemma/observer.h"
#include "lemma/report.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

struct lemma_device {
  // What a call has found stays until it is done, though another thread frees it.
  using SharedBuffer = std::shared_ptr<lemma::Buffer>;

  explicit lemma_device(lemma::Device opened);

  lemma::Device device;
  lemma::capi::Tree<lemma_device_info> info;
  std::mutex mutex;                         // of `buffers`, held for moments only
  std::map<uint64_t, SharedBuffer> buffers; // by address
};

struct lemma_module {
  lemma_module(lemma::Module loaded, lemma::Device on);

  // The kernel of that name; it may be null, or what Module::kernel() takes.
  lemma::Kernel kernel(const char* name) const;

  lemma::Module module;
  lemma::Device device;
  std::vector<lemma::Kernel> kernels;
  lemma::capi::Tree<lemma_module_info> info;
};

struct lemma_stop {
  std::atomic<bool> requested{false};
};

namespace lemma::capi {

// A report keeps the C++ one, for functions that take reports.
struct HeldReport : Tree<lemma_report> {
  explicit HeldReport(Report made);
  Report report;
};

// Likewise the findings of several schedules.
struct HeldExploration : Tree<lemma_exploration> {
  std::vector<Finding> held;
};

// A configuration and what it points to.
struct HeldConfig {
  LaunchConfig config;
  std::unique_ptr<LaunchObserver> observer;
};
HeldConfig launch_config(const lemma_launch_config* given);
// `function`: of the C API, for messages.
std::vector<Argument> arguments_of(const lemma_bytes* arguments, size_t count, const char* function);

} // namespace lemma::capi
