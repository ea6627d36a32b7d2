// What one MLIR host program has while it runs: which device, how its launches are made, its memory, modules
// and handles; and what it tells: warnings, reports, why it could not go on.
//
//   mgpu::Context context({.device = "cpu", .launch = {.async = AsyncMode::late}});
//   const std::optional<mgpu::Stop> stop = context.run([](void* argument) { ... }, argument);
//
// The functions of entry_points.h have no handle to a context: they serve the one that the calling thread is
// bound to, by run() or by a Bound. So several programs run at the same time, each on its own threads, and
// one after the other on one thread.
//
// A thread that is bound to none belongs to no program that this library runs. In liblemma_cuda_runtime.so
// (standalone.cc), which takes the place of MLIR's own library, there is one context for all such threads,
// and the environment says what it is: LEMMA_DEVICE (cpu or cuda), LEMMA_ARCH (sm_90a), LEMMA_ASYNC (eager,
// late or random), LEMMA_SEED and LEMMA_MAX_MEMORY (numbers); each may be absent. A program that cannot go on
// ends the process there. Elsewhere such a call aborts.
//
// Tests: tests/unit/mgpu/context_test.cc, tests/mgpu/.
#pragma once

#include "lemma/device.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma::mgpu {

struct Options {
  std::string device = "cpu"; // or "cuda"
  int ordinal = 0;            // cuda: which GPU, until mgpuSetDefaultDevice names another
  // Has been opened already, in the place of `device`: it is device `ordinal`.
  std::optional<Device> opened = {};
  // Memory of that device which the program may use and not free. Not owned; it must live as long as the
  // context.
  std::vector<Buffer*> shared_memory = {};
  // What the program frees stays until the context goes, so that its launches can be made again.
  bool keeps_memory = false;
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

// A launch that ended well, and all that it takes to make it again.
struct Launched {
  Kernel kernel;
  LaunchConfig config;
  std::vector<Argument> arguments;
  Report report;
};

// All are called from the thread whose call it is, with no lock held, and may be left out.
struct Hooks {
  // Warnings, about modules and launches: whole lines. By default they go to standard error.
  std::function<void(std::string_view)> said = {};
  // After every launch that ended well.
  std::function<void(const Launched&)> launched = {};
  // The program cannot go on. May end the process; else what Context says becomes of the call.
  std::function<void(const Stop&)> stopped = {};
};

class Context {
public:
  explicit Context(Options options, Hooks hooks = {});
  // Frees what the program left: memory, modules, the device. Not while an entry point serves it.
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  // The calling thread's entry points serve the context for as long as this lives.
  class Bound {
  public:
    explicit Bound(Context& context);
    Bound(const Bound&) = delete;
    ~Bound();

  private:
    Context* outer_;
    void* outer_way_out_;
  };

  // Calls program(argument) on this thread. An entry point that fails there does not return: run() does, with
  // the reason, and the frames between are left as they are (longjmp), so that they must be C's, or a
  // compiler's of MLIR: without destructors. None: the program returned. Memory and handles stay, and another
  // function of the program may run.
  std::optional<Stop> run(void (*program)(void*), void* argument);

  // Outside run() an entry point that fails returns nothing (null, zero), and so do all later ones, until the
  // reason is taken: constructors of a program load its modules so.
  std::optional<Stop> take_stop();

private:
  friend class Call;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace lemma::mgpu
