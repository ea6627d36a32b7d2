// Who runs next, and for how long: which cluster has the next turn, how long that is, in which order its
// warps run in a pass and for how many instructions each, whether one may be passed over.
//
// The usual schedule (LaunchConfig::schedule 0) is fair and coarse: clusters from the first to the last in
// turns of 400,000 instructions, the warps of a cluster one after the other for 512. Every other one is legal
// and unusual, so that a bug of order need not wait for luck: the table in schedule.cc.
//
// What no schedule decides: when a warp has to wait, what is a deadlock (scheduler.cc).
//
// Tests: tests/unit/vgpu/schedule_test.cc, scheduler_test.cc.
#pragma once

#include "lemma/launch.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace lemma::vgpu {

struct Cluster;
struct Cta;
struct Warp;

// A warp's part of a pass.
struct Slice {
  Cta* cta = nullptr;
  Warp* warp = nullptr;
  uint64_t instructions = 0; // at most
  bool if_none_ran = false;  // only if no warp before it in the pass has executed anything
};

// One round over the warps of a cluster.
struct Pass {
  std::vector<Slice> slices;  // of warps that have not ended
  bool wakes_polling = false; // loops that poll look again first
  bool times_out = false;     // waiting try_waits return false first, as after a while
};

class Schedule {
public:
  virtual ~Schedule() = default;

  // --- clusters; whoever asks holds the scheduler's lock, but for what no worker changes
  // The linear id of the cluster that starts as number `nth`, counted from 0; each comes once. A schedule for
  // several workers says it without the lock.
  virtual uint64_t cluster_to_start(uint64_t nth) = 0;
  // Which of so many that are ready has the next turn.
  virtual size_t cluster_to_run(size_t ready) = 0;
  // Whether clusterlaunchcontrol.try_cancel gets the next cluster to start. Else it fails, as on a GPU that
  // wants its places for something else: CUDA Programming Guide, "Cluster Launch Control".
  virtual bool grants_cluster() { return true; }
  // By what its asynchronous operations are ordered.
  virtual uint64_t async_seed(uint64_t cluster) const = 0;
  // Where a CTA's allocations of tensor memory are looked for first: a column.
  virtual uint32_t first_column(uint64_t cta) const = 0;
  // The warp of a CTA that goes first.
  virtual uint32_t first_warp(uint64_t cta, uint32_t warps) const = 0;

  // --- the cluster that has its turn
  virtual uint64_t turn_instructions() = 0;
  // Fills in the next pass, which has the slices of an earlier one.
  virtual void plan(Cluster& cluster, Pass& pass) = 0;
  // All passes of a turn are as the first but for warps that have ended meanwhile.
  bool repeats_passes = false;

  // A warp's slice ends where it finds a phase of an mbarrier complete. Asynchronous operations that complete
  // at once would let it pass one phase after the other else, while those that look for the first have not
  // had their turn: on a GPU the time that the operations take lets them.
  bool waits_end_slices = false;

  // Of the parts of a warp that has diverged, the one with the higher pc runs a basic block first.
  bool other_path_first = false;
};

// `clusters`: how many there are.
std::unique_ptr<Schedule> make_schedule(const LaunchConfig& config, uint64_t clusters);

// When asynchronous operations complete: as the launch says if that is not AsyncMode::eager, else as the
// schedule has it.
AsyncMode async_mode(const LaunchConfig& config);

} // namespace lemma::vgpu
