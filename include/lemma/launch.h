// How a kernel is launched. Plain data: every layer, down to the virtual GPU, takes the same.
//
// Tests: tests/unit/runtime/api_test.cc, threads_test.cc, tests/unit/vgpu/scheduler_test.cc.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>

namespace lemma {

class LaunchObserver;

// Sizes of a grid (in CTAs or clusters' CTAs), a block (in threads) or a cluster (in CTAs); x, y, z.
using Dim3 = std::array<uint32_t, 3>;

// Which lane of its membermask elect.sync elects. The ISA asks only that it is always the same one.
enum class Elect : uint8_t {
  lowest, // as an H200 does; kernels of CUTLASS rely on it
  any,    // the highest, in the usual schedule and every other one
};

// When the virtual GPU completes asynchronous operations: copies, reductions and wgmma.
enum class AsyncMode : uint8_t {
  eager,  // when they are issued
  late,   // as late as the ISA allows, so that a missing wait or fence shows
  random, // each at a time that the seed draws: when issued, as late as the ISA allows, or in between
};

// What becomes of an access just past the end of an allocation, where a GPU has memory all the same: it maps
// memory in units of 2 MiB, and whose part of one nobody uses belongs to the allocation.
enum class OnFault : uint8_t {
  stop, // it is a fault
  warn, // loads, stores and atomics go on there, and Report::warnings says so
};

// What executes a kernel's instructions on the virtual GPU. The results are the same.
enum class Engine : uint8_t {
  automatic,   // the interpreter, and code of the host for what has run often
  interpreter, // alone
  compiled,    // what can be compiled to code of the host is when it first runs
};

struct LaunchConfig {
  // A y or z of 0 counts as 1, so that {.grid = {4}} does what it says.
  Dim3 grid{1, 1, 1};        // CTAs; clusters, if the kernel is declared .blocksareclusters
  Dim3 block{1, 1, 1};       // threads of a CTA
  Dim3 cluster{0, 0, 0};     // CTAs of a cluster; 0: as the kernel declares, else {1, 1, 1}
  uint32_t shared_bytes = 0; // dynamic shared memory of a CTA
  // All CTAs are resident at once, as grid-wide barriers need; a grid too large for that is refused. Kernels
  // that read %envreg (this_grid().sync() of CUDA C++) are launched so anyway.
  bool cooperative = false;
  // In a stream (lemma/stream.h), behind a kernel: may begin when every CTA of that one has executed
  // griddepcontrol.launch_dependents or ended; griddepcontrol.wait waits for its end. "cpu" only.
  bool programmatic = false;

  // cpu only; a GPU does as it likes.
  uint64_t seed = 0;          // moves every choice that the schedule has; changes what was never written
  bool deterministic = false; // CTAs in a fixed order, so that floating-point atomics repeat
  AsyncMode async = AsyncMode::eager;
  uint64_t max_instructions = 0; // of any one warp, then a fault; 0: no limit
  // Who runs when: 0 is the usual order, any other number one of its own, on one host thread, in an order
  // that is legal and unusual: schedule_text() (lemma/explore.h) says which.
  uint64_t schedule = 0;
  Elect elect = Elect::lowest;
  Engine engine = Engine::automatic;
  OnFault on_fault = OnFault::stop; // without effect where `check` is set, or somebody watches
  bool check = false; // Report::findings: races, missing fences and waits; takes several times as long
  // Of so many CTAs at most are accesses followed: whole clusters, at even distances over the grid, the first
  // among them; at least one cluster. 0: of all.
  uint64_t check_ctas = 0;
  bool count_accesses = false;        // Stats::accesses and async_operations; takes a little time
  bool fidelity = false;              // Report::forms; takes a little time
  LaunchObserver* observer = nullptr; // is told what the launch does; not owned (lemma/observer.h)
  unsigned workers = 0;               // host threads; 0: one for each core that the process may use
  // Set by anyone, a signal handler too, to end the launch: within some 10,000 instructions of a warp it
  // returns with Outcome::stopped. Null: nobody will. Not owned; it must live as long as the launch.
  const std::atomic<bool>* stop = nullptr;

  // Callbacks. They come from any thread, one at a time and in order, and no lock is held meanwhile. They
  // cannot wait for their launch: a launch or a copy in one is an error (device.h). One that throws ends the
  // launch.
  std::function<void(std::string_view)> print = {}; // device printf; empty: stdout, as the CUDA driver does
  std::function<void(uint64_t done, uint64_t total)> progress = {}; // CTAs; now and then
};

} // namespace lemma
