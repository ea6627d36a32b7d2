// The library's state: one object a process, made by cuInit and never destroyed, since programs call from
// atexit handlers and destructors of their own.
//
// A child of fork() that has not called exec is not initialized, as with NVIDIA's driver: the threads that
// would run its kernels are its parent's.
#pragma once

#include "driver/array.h"
#include "driver/context.h"
#include "driver/event.h"
#include "driver/graph.h"
#include "driver/live.h"
#include "driver/machine.h"
#include "driver/memory.h"
#include "driver/module.h"
#include "driver/pool.h"
#include "driver/stream.h"
#include "driver/texture.h"
#include "driver/vmm.h"
#include "lemma/device.h"
#include "lemma/process_reports.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lemma::driver {

struct State {
  explicit State(Machine machine, Device device);

  const Machine machine;
  const Device device; // the virtual GPU that every context shares
  Memory memory;       // what programs have allocated or registered
  AddressSpace address_space;
  // Streams, events and functions of every context.
  Live<Stream> streams;
  Live<Event> events;
  Live<Module> modules;
  Live<Function> functions; // of modules
  Live<Library> libraries;
  Live<LibraryKernel> kernels; // of libraries
  Live<Linker> linkers;
  Live<MemoryPool> pools;
  Live<Array> arrays;
  TextureObjects textures; // and surfaces
  Live<Graph> graphs;
  Live<GraphExec> graph_execs;
  std::shared_ptr<MemoryPool> default_pool;
  std::atomic<std::shared_ptr<MemoryPool>> current_pool; // cuDeviceSetMemPool
  std::optional<ProcessReporter> reporter;               // LEMMA_REPORTS
  std::mutex told_mutex;
  std::set<std::string> told; // warnings of launches, each by its kernel and place
};

// Only after why_not_initialized() has said CUDA_SUCCESS.
State& state();

CUresult initialize();
// The one that cuInit has found, or would find now. None: a line on standard error has said why.
std::optional<Machine> machine_now();
CUresult why_not_initialized();

// To whoever started the process (LEMMA_REPORTS), else to standard error, but for notes.
void tell_findings(const std::vector<Finding>& findings);

// On standard error, once in a process: that LEMMA_REPORTS's folder takes no more.
void say_if_lost(const Result<void, Error>& written);

// LEMMA_CHECK: tells what operations of streams did that nothing orders, since the last call.
void tell_stream_findings();

// This thread runs a function that a stream called: it may not call the driver.
bool in_host_function();
class InHostFunction {
public:
  InHostFunction();
  ~InHostFunction();
  InHostFunction(const InHostFunction&) = delete;
};

} // namespace lemma::driver
