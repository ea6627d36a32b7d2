// The one State, and the threads' marks.
#include "driver/state.h"

#include "driver/api.h"
#include "driver/call.h"
#include "driver/error.h"
#include "driver/failing.h"
#include "driver/running.h"
#include "lemma/findings.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>

namespace lemma::driver {
namespace {

std::atomic<State*> the_state{nullptr};
std::atomic<bool> forked{false};
std::atomic<bool> says_forked{false}; // once in each child
thread_local int host_functions = 0;

void print_error(const Error& error) {
  std::fprintf(stderr, "lemma: %s\n", error.text.c_str());
}

// In the child. What is locked here stays as the parent's other threads have left it: nothing of State is
// touched any more.
void forget_after_fork() {
  forked = the_state.load() != nullptr;
  says_forked = forked.load();
}

void say_forked() {
  if (!says_forked.exchange(false))
    return;
  std::fprintf(
      stderr,
      "lemma: process %d is a child of fork, and its parent had initialized the driver: no call of it "
      "works here (CUDA_ERROR_NOT_INITIALIZED), as with NVIDIA's. Start such a process with spawn: "
      "multiprocessing.set_start_method(\"spawn\"), DataLoader(..., "
      "multiprocessing_context=\"spawn\"), or exec after fork; or fork before the first use of the GPU\n",
      static_cast<int>(getpid()));
}

} // namespace

State::State(Machine machine, Device device) : machine(std::move(machine)), device(std::move(device)) {
  default_pool = std::make_shared<MemoryPool>(true);
  current_pool = default_pool;
  pools.add(default_pool);
  if (const std::string folder = process_reports_folder(); !folder.empty()) {
    Result<ProcessReporter, Error> opened = ProcessReporter::open(folder);
    if (opened)
      reporter.emplace(*std::move(opened));
    else
      print_error(opened.error());
  }
}

State& state() {
  return *the_state.load(std::memory_order_acquire);
}

std::optional<Machine> machine_now() {
  if (the_state.load())
    return state().machine;
  Result<Machine, Error> machine = machine_from_environment();
  if (machine)
    return *std::move(machine);
  print_error(machine.error());
  return std::nullopt;
}

CUresult initialize() {
  static std::mutex* mutex = new std::mutex;
  const std::scoped_lock lock(*mutex);
  if (forked) {
    say_forked();
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  if (the_state.load())
    return CUDA_SUCCESS;
  std::optional<Machine> machine = machine_now();
  if (!machine)
    return CUDA_ERROR_NO_DEVICE;
  Result<Device, Error> device = Device::open("cpu", {.arch = "sm_" + std::to_string(machine->sm),
                                                      .max_memory_bytes = machine->memory_bytes,
                                                      .patience_seconds = machine->patience_seconds,
                                                      .check_streams = machine->check,
                                                      .skip_repeats = machine->skip_repeats,
                                                      .on_running = note_running});
  if (!device) {
    print_error(device.error());
    return CUDA_ERROR_NO_DEVICE;
  }
  if (machine->check)
    std::atexit(tell_stream_findings);
  say_what_runs_when_killed();
  if (!machine->check)
    say_command_if_failing();
  pthread_atfork(nullptr, nullptr, forget_after_fork);
  the_state.store(new State(*std::move(machine), *std::move(device)), std::memory_order_release);
  return CUDA_SUCCESS;
}

void tell_stream_findings() {
  if (!forked && the_state.load(std::memory_order_acquire) && state().machine.check)
    tell_findings(state().device.stream_findings());
}

void say_if_lost(const Result<void, Error>& written) {
  static std::atomic<bool> was_said{false};
  if (!written && !was_said.exchange(true))
    print_error(written.error());
}

void tell_findings(const std::vector<Finding>& findings) {
  if (state().reporter) {
    const Result<void, Error> written = state().reporter->add(findings);
    if (written)
      return;
    say_if_lost(written); // and here are they
  }
  const std::string text = to_text(findings);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

CUresult why_not_initialized() {
  if (forked.load(std::memory_order_relaxed)) [[unlikely]] {
    say_forked();
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  return the_state.load(std::memory_order_acquire) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

bool in_host_function() {
  return host_functions > 0;
}
InHostFunction::InHostFunction() {
  ++host_functions;
}
InHostFunction::~InHostFunction() {
  --host_functions;
}

} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuInit(unsigned flags) {
  if (flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  try {
    return initialize();
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (...) {
    return CUDA_ERROR_UNKNOWN;
  }
}

CUresult cuDriverGetVersion(int* version) {
  if (!version)
    return CUDA_ERROR_INVALID_VALUE;
  *version = kDriverVersion;
  return CUDA_SUCCESS;
}
