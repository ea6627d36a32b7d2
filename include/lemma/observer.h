// Watching a launch on the virtual GPU, as NVBit's tools do on hardware: each instruction that a warp
// executes, each access with the address of every lane, synchronization, asynchronous operations, the begin
// and end of CTAs and launches.
//
//   class Counter : public lemma::LaunchObserver {
//     void executes(const lemma::WarpStep& step) override { ++count_[step.worker]; }
//     ...
//   };
//   Counter counter;
//   kernel->launch({.grid = {4}, .block = {256}, .observer = &counter}, arguments);
//
// Which thread calls what: launch_begins() and launch_ends() the one that launches, before the first and
// after the last of the others. Those come from the launch's host threads: of one cluster one after the
// other, in the program order of each warp; of different clusters at the same time. `worker` tells the
// threads of a launch apart, so that a counter for each needs no lock. LaunchConfig::workers = 1 makes it one
// thread.
//
// What such a function may do: what a callback may (launch.h), so no copies and no launches. One that throws
// ends the launch with a fault of kind internal that says what it threw; after that launch_ends() alone is
// called. What it is shown lives as long as the call, WatchedLaunch until launch_ends() has returned.
//
// The observer sees all CTAs, those too that LaunchConfig::check_ctas leaves out. One observer may watch
// several launches; where they run at the same time, on several devices, it is called for all of them. A real
// GPU tells nothing, and the report warns of that.
//
// Tests: tests/unit/runtime/observer_test.cc, examples/observers.
#pragma once

#include "lemma/launch.h"
#include "lemma/report.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace lemma {

// Of events that no instruction causes.
inline constexpr uint32_t kNoInstruction = UINT32_MAX;

// Lanes of a warp at an instruction: whose event it is.
struct WarpStep {
  uint32_t worker = 0;                   // below WatchedLaunch::workers
  uint32_t instruction = kNoInstruction; // below WatchedLaunch::instructions
  uint64_t cta_index = 0;                // in the grid, x first
  Dim3 cta{};
  uint32_t cta_rank = 0; // in its cluster
  uint32_t warp = 0;     // in the CTA
  uint32_t lanes = 0;    // mask
};

// A function of the module, and which of the instructions are its.
struct WatchedFunction {
  std::string_view name;
  bool is_kernel = false;
  uint32_t first = 0, count = 0;
};

// A launch. Instructions are those of the whole module, numbered in the order of its text: the same in every
// launch of one text.
class WatchedLaunch {
public:
  std::string_view kernel;
  std::string_view ptx;        // LoadOptions::name
  std::string_view arithmetic; // "sm_90"
  uint64_t number = 0;         // of the process's launches
  Dim3 grid{}, block{}, cluster{};
  uint32_t shared_bytes = 0;        // of a CTA, static and dynamic
  uint32_t dynamic_shared_from = 0; // the shared address of the dynamic part
  uint32_t workers = 0;             // host threads
  uint32_t instructions = 0;
  std::span<const WatchedFunction> functions;

  // Lines and text of an instruction. From any thread; takes some microseconds.
  virtual Place place(uint32_t instruction) const = 0;
  // Its words in the ISA's order: "ld.global.v4.f32".
  virtual std::string form(uint32_t instruction) const = 0;

protected:
  ~WatchedLaunch() = default;
};

struct WatchedCta {
  uint32_t worker = 0;
  uint64_t index = 0; // in the grid, x first
  Dim3 id{};
  uint64_t cluster = 0; // index of its cluster
  uint32_t rank = 0;    // in it
};

enum class MemorySpace : uint8_t { global, constant, shared, local, param };
enum class AccessType : uint8_t { read, write, atomic };

// What one execution of an instruction accesses in one allocation, one CTA's shared memory, or the lanes' own
// memory. One that reaches several is told as several. Not the accesses of asynchronous operations
// (WatchedOperation), nor kernel parameters that are in registers.
//
// It comes in pieces of one size. Where `by_lane`, piece i is lane i's; else (ldmatrix, stmatrix, wmma.load
// and wmma.store, tensor maps) the lanes access all of them together, and of ldmatrix and stmatrix piece i is
// the row that lane i gives the address of.
struct WatchedAccess {
  MemorySpace space = MemorySpace::global;
  AccessType type = AccessType::read;
  bool by_lane = true;
  uint32_t pieces = 0; // mask
  uint32_t piece_bytes = 0;
  // 32, by piece; of those that `pieces` has. Device addresses; of shared memory as the CTA that owns it
  // addresses it, of local memory and of kernel parameters from their beginning.
  const uint64_t* addresses = nullptr;
  uint32_t owner_rank = 0;           // shared: of the CTA whose memory it is, in the cluster
  std::string_view semantics, scope; // "weak" and "", "acquire" and "gpu"
};

enum class SyncEvent : uint8_t {
  fence,            // fence, membar
  proxy_fence,      // fence.proxy
  warp_barrier,     // bar.warp.sync
  convergence,      // shfl.sync, vote.sync, ...
  barrier_arrive,   // bar.arrive, bar.sync and bar.red
  barrier_complete, // no warp's
  cluster_arrive,   // barrier.cluster
  cluster_wait,     // begins to wait, or goes on at once
  cluster_complete, // no warp's
  wgmma_fence,
  grid_wait,       // griddepcontrol.wait
  mbarrier_arrive, // counts of an mbarrier change: by lanes, or by an operation's completion
  mbarrier_wait,   // lanes have found that a phase is complete
  group_commit,    // of cp.async, bulk copies or wgmma
  group_wait,      // lanes have waited for their groups
  exit,            // lanes are no more
};
// "fence", "barrier arrive", ...
std::string_view to_string(SyncEvent event);

struct WatchedSync {
  SyncEvent event = SyncEvent::fence;
  std::string_view semantics, scope; // as WatchedAccess::semantics
  uint32_t members = 0;              // warp_barrier, convergence: the membermask
  uint32_t barrier = 0;              // barrier_*: 0 to 15
  bool waits = false;                // barrier_arrive: the lanes go on when the phase completes
  uint32_t threads = 0;              // barrier_arrive: that the phase waits for; 0: all of the CTA
  // mbarrier_*:
  uint32_t mbarrier_rank = 0;    // of the CTA in whose shared memory it lies, in the cluster
  uint32_t mbarrier_address = 0; // there
  bool parity = false;           // of the phase
  bool completes_phase = false;
  uint32_t arrivals = 0;
  int64_t expected_bytes = 0; // negative: so many have come
  bool by_operation = false;  // the step is that which issued it
  uint64_t operation = 0;     // by_operation: WatchedOperation::number
  // group_*:
  std::string_view group;   // as WatchedOperation::group
  uint64_t pending = 0;     // group_wait: groups that need not be complete
  bool read_only = false;   // group_wait: their sources have been read, no more
  bool uncommitted = false; // group_wait: what was not committed has completed, too
};

// Bytes that an operation reads or writes: device addresses, or shared memory of a CTA.
struct MemoryRange {
  MemorySpace space = MemorySpace::global;
  uint32_t owner_rank = 0; // shared
  uint64_t address = 0;
  uint64_t bytes = 0;
};

enum class OperationEvent : uint8_t {
  issued,      // of wgmma once for each of the four warps, `parts` counting up
  source_read, // its source may be written again
  completed,   // the destination is written
};

// An asynchronous operation. Its step is that which issued it, with one lane, of wgmma with all.
struct WatchedOperation {
  OperationEvent event = OperationEvent::issued;
  std::string_view kind;  // as AsyncCount::kind: "tensor load"
  std::string_view group; // by which it is waited for: "cp.async", "bulk", "wgmma"; empty: by an mbarrier
  uint64_t number = 0;    // of its cluster's operations, in the order of issue
  uint32_t parts = 1;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;                 // to every destination
  std::span<const MemoryRange> reads, writes; // if Watch::ranges; those of a tensor are many
};

// What an observer wants to be told; what it does not ask for costs little.
struct Watch {
  bool instructions = true; // executes()
  bool accesses = true;
  bool synchronization = true;
  bool operations = true;
  bool ranges = false; // of operations
};

class LaunchObserver {
public:
  virtual ~LaunchObserver() = default;

  // Asked before each launch.
  virtual Watch watches() const { return {}; }

  virtual void launch_begins(const WatchedLaunch&) {}
  virtual void launch_ends(const WatchedLaunch&) {}
  // Of a launch that ends early not all CTAs end.
  virtual void cta_begins(const WatchedCta&) {}
  virtual void cta_ends(const WatchedCta&) {}
  // An instruction begins, before its other events, in the lanes whose guard holds: perhaps none. One that
  // waits for others - a warp-wide one, try_wait, a barrier's reduction - may begin again when it goes on.
  // All calls together are Stats::warp_instructions, their lanes Stats::lane_instructions.
  virtual void executes(const WarpStep&) {}
  virtual void accesses(const WarpStep&, const WatchedAccess&) {}
  virtual void synchronizes(const WarpStep&, const WatchedSync&) {}
  virtual void operates(const WarpStep&, const WatchedOperation&) {}
};

} // namespace lemma
