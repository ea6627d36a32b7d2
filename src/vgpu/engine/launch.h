// The state of a running launch, from the grid down to the diverged parts of a warp.
//
//   Launch  one kernel launch: grid, parameters, report      shared by all worker threads
//   Cluster CTAs that see each other's shared memory          run by one worker at a time
//   Cta     shared memory, barriers, warps
//   Warp    32 lanes: splits, frames, local memory
//   Split   lanes of a warp that share a pc and a call stack
//
// Who runs when is decided in scheduler.cc and warp.cc; this file only says what there is.
#pragma once

#include "lemma/launch.h"
#include "lemma/matrix_outputs.h"
#include "lemma/report.h"
#include "vgpu/async/async.h"
#include "vgpu/async/late_copies.h"
#include "vgpu/async/wgmma.h"
#include "vgpu/code/code.h"
#include "vgpu/engine/callbacks.h"
#include "vgpu/engine/polling.h"
#include "vgpu/engine/watch.h"
#include "vgpu/memory/access.h"
#include "vgpu/memory/memory.h"
#include "vgpu/memory/tensor_memory.h"
#include "vgpu/memory/written_pages.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

namespace lemma::vgpu {

class Program;
class Schedule;
struct LaunchSurroundings;

// The registers of one function activation, all lanes. Two splits in the same function at the same call depth
// use disjoint lanes of the same frame.
// What every access asks of it lies in one line of the host's cache.
struct alignas(64) Frame {
  // A register that holds what a load found never written, and that the program only stores (Code::copied):
  // the bytes stay unwritten wherever they are stored.
  struct Carried {
    uint32_t offset = 0; // of the register in the frame
    LaneMask lanes = 0;
    LaneMask whole = 0;                        // ... whose load found nothing that was written
    std::array<uint16_t, kWarpSize> bytes{};   // of the register: bit i: byte i was never written
    std::array<MemoryPlace, kWarpSize> from{}; // that was loaded
    std::array<InstId, kWarpSize> load{};      // the instruction that did
  };

  const Code* code = nullptr;
  std::byte* data = nullptr; // 64-byte aligned
  std::vector<Carried> carried;
  uint64_t activation = 0; // how often it was activated, by any lanes
  LaneMask carry = 0;      // CC.CF: the carry out of a sum, the absence of a borrow of a difference
  // By register: lanes that hold a value. Kept where the function has registers of which that is asked.
  std::vector<LaneMask> written;
  std::unique_ptr<std::byte[]> storage;
};

struct CallFrame {
  const Code* code = nullptr;
  Frame* frame = nullptr;         // of a kernel: null until the warp first runs
  std::byte* registers = nullptr; // Frame::data
  uint32_t return_pc = 0;         // in the caller
  uint32_t local_base = 0;        // of this activation in every lane's local memory
  // What alloca has taken above the function's own local variables; parts of a warp that meet again may
  // differ in it.
  uint32_t alloca_bytes = 0;
  uint32_t frame_bytes = 0; // of a thread: the frames of this activation and of those that led to it

  uint32_t local_end() const { return local_base + code->local_bytes + alloca_bytes; }
  friend bool operator==(const CallFrame& a, const CallFrame& b) {
    return a.code == b.code && a.frame == b.frame && a.return_pc == b.return_pc &&
           a.local_base == b.local_base;
  }
};

enum class SplitState : uint8_t {
  ready,
  at_collective, // waits at a warp-wide instruction for other lanes of the warp
  at_barrier,    // waits at a CTA barrier
  at_cluster_barrier,
  at_mbarrier,      // a try_wait waits for a phase to complete
  at_warpgroup,     // waits at a wgmma instruction for the other warps of its warpgroup
  at_registers,     // waits at a setmaxnreg.inc for registers that other warpgroups give back
  at_tensor_memory, // a tcgen05.alloc waits for columns, or for the other CTA of its pair
  at_grid_wait,     // griddepcontrol.wait: a grid before this one has not ended
  polling,          // its loop came round with nothing changed but, perhaps, the clock
  sleeping,         // nanosleep
};

// Virtual time, in ticks of 2 GHz (about an H200's 1.98 GHz). See waiting.h.
inline constexpr uint64_t kTicksPerNs = 2;
inline constexpr uint64_t kTicksPerInstruction = 4; // of a warp
inline constexpr uint64_t kNever = UINT64_MAX;

struct Split {
  LaneMask mask = 0;
  uint32_t pc = 0;
  SplitState state = SplitState::ready;
  uint8_t barrier = 0;       // at_barrier: which
  bool barrier_done = false; // the barrier's reduction has completed: the instruction runs again to take it
  uint32_t wait_pc = 0;      // not ready: the instruction it waits at
  uint32_t barrier_popc = 0; // result of the barrier's reduction: threads whose predicate held
  uint32_t barrier_threads = 0;   // ... of so many
  std::vector<CallFrame> stack;   // back(): the running function
  uint64_t ran_before_others = 0; // instructions since other ready parts of the warp last ran
  // at_mbarrier: the object (its CTA's rank in the cluster and offset in the shared memory) and the parity of
  // the phase that is waited for.
  uint32_t mbarrier_rank = 0;
  uint32_t mbarrier_offset = 0;
  bool mbarrier_parity = false;
  bool phase_ended = false;      // that phase has completed: the try_wait runs again, to say that
  bool timed_out = false;        // the try_wait has waited long enough: it runs again, to say that
  uint64_t timeout_snapshot = 0; // hash of the state when it last did; 0: it has not, or may again
  uint64_t last_time_out = 0;    // the same, kept when it may again; see WarpRunner::moved
  // The last test_wait that failed, and Warp::effects then.
  uint32_t failed_test_pc = ptx::kNone;
  uint64_t failed_test_effects = 0;
  Polling polling;        // detection of loops that only poll
  uint64_t last_poll = 0; // what it waited in last; see WarpRunner::moved
  // Waiting for the clock; see waiting.h.
  uint64_t wake = kNever;      // not ready: when it goes on though nothing else has happened
  uint64_t clock_read_at = 0;  // Warp::effects when it last read a clock, and 1 more; 0: it has not
  uint64_t clock_state = 0;    // hash of the state in which it last waited for the clock
  uint32_t clock_rounds = 0;   // so often has the clock moved since, and it came back in that state
  bool woken_by_clock = false; // since it last waited
};

struct Warp {
  uint32_t index = 0; // in the CTA
  LaneMask live = 0;  // lanes that exist and have not exited
  LaneMask exited = 0;
  std::vector<Split> splits;
  uint64_t instructions = 0;          // executed by this warp
  uint64_t effects = 0;               // stores, arrivals, ...: whatever another warp could see
  std::vector<CallFrame> spare_stack; // of a part that has ended: its memory, for the warp that starts next
  std::vector<std::vector<std::unique_ptr<Frame>>> frames; // by call depth, of what kernels call
  std::vector<std::byte> local;                            // [lane][local_capacity]
  std::vector<LaneMask> local_written;                     // by byte of a lane: lanes that have written it
  uint32_t local_capacity = 0;                             // bytes a lane
  uint64_t poison_key = 0;                                 // of the frames and local memory, see poison.h
  // barrier.cluster: lanes that have arrived and not yet waited, in a phase that is open, or complete.
  LaneMask cluster_arrived = 0;
  LaneMask cluster_passed = 0;
  WgmmaState wgmma;
  LateCopies late_copies;
  uint32_t mma_run_end = 0; // where the run ends whose mma are put off; 0: they are not (mma_runs.h)
  MemoryShare taken;        // for frames, call stacks and local memory
  mutable bool follows_values = false; // the observer's: Observer::begins
};

struct Cta;
struct Cluster;

// barrier{.cta}: bar 0..15. Threads are counted; lanes that do not exist or have exited count with the last
// of their warp, so that a warp always counts 32.
struct Barrier {
  uint32_t expected = 0;            // threads that the instruction named; 0: all warps that live
  uint32_t arrived = 0;             // threads
  uint32_t popc = 0;                // reduction: threads whose predicate held
  uint32_t voters = 0;              // threads that gave one
  std::array<LaneMask, 32> lanes{}; // by warp: arrived, the warp not yet complete
};

// Where a CTA has first been told that a clusterlaunchcontrol.try_cancel failed.
struct FailedRequest {
  const Code* code = nullptr; // null: never
  InstId instruction = {};
};

struct Cta {
  Dim3 id{};
  uint64_t linear_id = 0;
  Cluster* cluster = nullptr;
  uint32_t rank = 0; // in the cluster
  uint32_t threads = 0;
  uint32_t sm = 0;
  std::vector<Warp> warps;
  uint32_t live_warps = 0; // that have a lane which has not exited
  // The kernel's own registers, a frame for each warp. One that first runs takes the last of those that are
  // free, so that warps which run one after the other have the same, and the host's caches hold it.
  std::vector<std::unique_ptr<Frame>> frames;
  std::vector<Frame*> free_frames;
  std::vector<std::byte> shared; // [0, kSharedReservedBytes) belongs to the system
  std::vector<uint8_t>
      shared_written;            // 1: written; beside `shared`. Set anywhere, cleared by forget_written()
  WrittenPages written_pages;    // what is known of that
  uint32_t reads_of_written = 0; // of which more might be known
  uint32_t shared_begin = kSharedReservedBytes; // what threads may use; 0: the system's too
  std::array<Barrier, 16> barriers{};
  uint32_t used_barriers = 0;             // bit i: barriers[i] is not as it was made
  std::unordered_set<uint32_t> mbarriers; // offsets in `shared` of those that were initialized
  uint32_t next_warp = 0;                 // round robin
  std::vector<Warpgroup> warpgroups;      // the complete ones
  uint32_t free_registers = 0;            // a thread of a warpgroup, by setmaxnreg.dec
  bool launched_dependents = false;       // a thread has executed griddepcontrol.launch_dependents
  FailedRequest failed_request;
  WgmmaChecks wgmma_checks;
  TensorUse tensor;
  MemoryShare taken; // for shared memory and what is kept beside it

  // Not AsyncMode::eager: shared memory as the async proxy sees it. What threads have stored (the generic
  // proxy) is in `shared` and marked in `unpublished` until a proxy fence. Empty: both proxies see `shared`.
  static constexpr uint8_t kByOwnThread = 1, kByOtherCta = 2; // who stored
  std::vector<std::byte> async_view;
  std::vector<uint8_t> unpublished;

  bool is_finished() const { return live_warps == 0; }
  // Shared memory from `offset` on, as the async proxy reads it.
  const std::byte* async_read(uint32_t offset) const {
    return (async_view.empty() ? shared : async_view).data() + offset;
  }
  // Is it known, or found now, that all pages of the range are wholly written? Not empty.
  bool find_written(uint64_t offset, uint64_t bytes) {
    return written_pages.learn(shared_written, offset, bytes);
  }
  // The range was read and found to be written. All of its pages may be by now, so that every 16th time this
  // looks at them.
  void note_read_of_written(uint64_t offset, uint64_t bytes) {
    if (++reads_of_written % 16 == 0)
      find_written(offset, bytes);
  }
  // The range counts as never written again.
  void forget_written(uint64_t offset, uint64_t bytes);
  // A write of the async proxy: both proxies see it once it has completed.
  void async_write(uint32_t offset, const void* source, uint32_t bytes);
  // fence.proxy.async: what threads have stored - those of other CTAs only, if `by_other_ctas` - becomes
  // visible to the async proxy.
  void publish_to_async_proxy(bool by_other_ctas = false);
};

// barrier.cluster: every thread of every CTA; those that have exited are not waited for. Which threads have
// arrived is in Warp.
struct ClusterBarrier {
  uint32_t expected = 0; // threads that have not exited
  uint32_t arrived = 0;  // ... of which have arrived, in the current phase
};

// What a schedule remembers of a cluster.
struct ScheduledCluster {
  uint64_t executed = 0;        // instructions of its warps, up to the last pass
  uint64_t next_fair = 0;       // the first pass from there on is a fair one; 0: not decided
  uint32_t fair = 0;            // passes that were
  uint64_t next_change = 0;     // of priorities; 0: not decided
  std::vector<uint64_t> fallen; // warps that have fallen behind, in that order
};

struct Cluster {
  Dim3 id{};
  uint64_t linear_id = 0;
  std::vector<std::unique_ptr<Cta>> ctas; // by rank
  AsyncQueue async;
  ClusterBarrier barrier;
  uint64_t clock = 0;          // virtual time at the begin of the current pass over the warps
  uint64_t next_wake = kNever; // no split that waits for the clock goes on before
  ScheduledCluster scheduled;
  bool had_turn = false; // else no warp has executed anything yet
  // Which one it is of those that are resident, for observers that keep something of each: below
  // Launch::most_clusters, and no other's from cluster_begins() to cluster_ends().
  uint32_t place = 0;

  bool is_finished() const {
    return std::all_of(ctas.begin(), ctas.end(), [](const auto& cta) { return cta->is_finished(); });
  }
};

// What one worker has counted.
struct WorkerCounts {
  uint64_t warp_instructions = 0;
  uint64_t lane_instructions = 0;                   // one for each lane that executed
  uint64_t compiled_instructions = 0;               // of the warp instructions: Stats::compiled_instructions
  std::array<uint64_t, isa::kOpcodeCount> called{}; // of these, by isa::Opcode: Stats::called
  uint64_t compiled_code_bytes = 0;                 // that it has made
  uint64_t compile_nanoseconds = 0;                 // ... in so much time
  uint64_t matrix_flops = 0;                        // 2*M*N*K a matrix instruction
  MatrixOutputs matrix_outputs;                     // how their outputs were computed
};

struct Launch {
  const Program* program = nullptr;
  const Code* entry = nullptr;
  GlobalMemory* memory = nullptr;
  LaunchConfig config;           // in which every size is what it is, the cluster's too
  bool explicit_cluster = false; // the launch, or the kernel, names a cluster, be it of one CTA
  std::vector<std::byte> params; // the kernel's, laid out by ptx::lay_out_parameters()
  uint64_t cta_count = 0;
  uint32_t shared_bytes = 0;                    // of one CTA, reserved bytes included
  uint32_t static_shared_bytes = 0;             // of one CTA, reserved bytes not included
  uint32_t shared_begin = kSharedReservedBytes; // Cta::shared_begin
  uint32_t dynamic_shared_offset = 0;
  uint32_t registers = 0; // launch_registers()
  uint32_t sm_count = 0;
  uint32_t warps_per_sm = 0;
  uint64_t grid_id = 1;
  uint64_t workspace = 0;                           // cooperative: its address
  uint32_t workers = 1;                             // host threads
  uint32_t most_clusters = 1;                       // that are resident at a time
  const LaunchSurroundings* surroundings = nullptr; // see scheduler.h
  std::atomic<uint64_t> ctas_that_launched_dependents{0};
  Schedule* schedule = nullptr; // see schedule.h
  Watch watch;                  // see observer.h
  // The same for clusters that LaunchConfig::check_ctas leaves out.
  Watch watch_of_others;
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> clock{0}; // the latest that any cluster's clock has been
  std::mutex report_mutex;        // guards `report` and what follows
  Report report;
  // Index in report.uninitialized or past it.
  std::unordered_map<InstId, uint64_t, InstIdHash> uninitialized_at;
  // What the ISA leaves undefined and the hardware runs, by instruction: Report::warnings at the end.
  struct Remark {
    const Code* code = nullptr;
    std::string text;
    uint64_t count = 0;
  };
  std::map<InstId, Remark> remarks;
  void remark(const Code* code, InstId id, std::string text);
  // Of `remarks`: one for all instructions of which the same is to be said, in the order of the first ones.
  std::vector<std::string> warnings() const;
  MatrixOutputs late_outputs; // of matrix operations that no handler has computed
  CallbackQueue callbacks;
  TensorMemories tensor_memories;

  // Takes a cluster that has not started out of the grid, so that it never will: the id of its first CTA;
  // none where the request fails. The scheduler's; for any worker during a turn.
  std::function<std::optional<Dim3>()> cancel_cluster;
  // So many more CTAs have executed griddepcontrol.launch_dependents, or have ended without.
  void dependents_launched_by(uint64_t ctas);
};

} // namespace lemma::vgpu
