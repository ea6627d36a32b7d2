// What the runtime of MLIR host programs is told before a program runs, and what it tells: which device, how
// launches are made, what becomes of faults and warnings.
//
//   mgpu::configure({.device = "cpu", .launch = {.async = AsyncMode::late}}, {.stopped = [](const mgpu::Stop&
//   stop) {...}});
//   ... run the host program, which calls the functions of entry_points.h ...
//   mgpu::finish();
//
// There is one runtime a process, as those functions have no handle to another. A process that does not call
// configure() gets what the environment says: LEMMA_DEVICE (cpu or cuda), LEMMA_ARCH (sm_90a), LEMMA_ASYNC
// (eager or late), LEMMA_SEED and LEMMA_MAX_MEMORY (numbers); each may be absent.
//
// Tests: tests/unit/mgpu/context_test.cc.
#pragma once

#include "lemma/device.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace lemma::mgpu {

struct Options {
  std::string device = "cpu";        // or "cuda"
  int ordinal = 0;                   // cuda: which GPU, until mgpuSetDefaultDevice names another
  std::string arch = {};             // LoadOptions::arch of every module
  uint64_t max_memory_bytes = 0;     // DeviceOptions::max_memory_bytes
  std::string module_name = "<ptx>"; // the modules' name in messages
  // How kernels are launched; the sizes in it are not used.
  LaunchConfig launch = {};
};

// Why a program cannot go on.
struct Stop {
  std::string entry_point;      // "mgpuLaunchKernel"
  std::string kernel;           // of a launch; else empty
  std::optional<Report> report; // of a kernel that ran and faulted
  std::optional<Error> error;   // otherwise: what is wrong with the call or the module
  std::string text;             // for a terminal: what `lemma run` prints; ends with a newline
  int exit_status = 1;          // 1; 3 if something is not supported or not there; 130: LaunchConfig::stop
};

// All are called from the thread that the program runs in, and may be left out.
struct Hooks {
  // Instead of printing the text to standard error. When it returns, the process exits with the status; it
  // may do that itself, but must not unwind: the program's own frames lie between.
  std::function<void(const Stop&)> stopped = {};
  // Warnings, about modules and launches: whole lines. By default they go to standard error.
  std::function<void(std::string_view)> said = {};
  // After every launch that ended well.
  std::function<void(const Kernel&, const Report&)> launched = {};
};

// Starts anew: memory and handles of an earlier program are gone. Not while a program runs.
void configure(Options options, Hooks hooks = {});

// Frees what the program left: memory, modules, the device. A later call of an entry point starts anew, with
// the same options; but the program's destructors may still unload its modules, which does nothing then. Not
// while a program runs.
void finish();

} // namespace lemma::mgpu
