// Runs one warp: picks which of its diverged parts goes on, joins parts that meet, and finds loops that only
// poll.
//
// Order: the deepest call first, then the lowest pc (see flow.h: parts then meet as early as the program
// allows). So that a spinning part never starves the one it waits for, a part that has run long while others
// were ready gives way.
//
// Tests: tests/unit/vgpu/warp_test.cc, tests/programs/divergence.
#pragma once

#include "vgpu/exec.h"

namespace lemma::vgpu {

class WarpRunner {
public:
  explicit WarpRunner(Launch& launch);

  // Runs `warp` until no part of it is ready or about `budget` instructions were executed. Returns how many
  // were. launch.stop is set when a fault was recorded.
  uint64_t run(Cta& cta, Warp& warp, uint64_t budget);

  // Set when a part came to wait in a state other than the one it last waited in: something moved, though
  // perhaps nothing that another warp can see.
  bool moved = false;
  LaunchStats& stats() { return exec_.stats; }
  bool used_approximate() const { return exec_.approximate; }

private:
  size_t pick(bool give_way) const;
  void load(size_t split);
  bool join_meeting_splits();
  uint32_t meeting_pc() const;
  // Executes the loaded split; returns the number of instructions executed.
  uint64_t execute(uint64_t budget);
  void check_written(const DecodedInst& in);
  void note_waiting(Warp& warp);

  Launch& launch_;
  Exec exec_;
};

// Makes a warp ready to start a kernel at its entry. `lanes` exist.
void start_warp(Warp& warp, uint32_t index, LaneMask lanes, const Code& entry);

// The frame of `code` at a call depth, made when first needed. Written marks of `lanes` are cleared.
Frame* activate_frame(Warp& warp, size_t depth, const Code& code, LaneMask lanes);

// Makes sure that every lane has this much local memory; false if a lane may not have so much.
bool reserve_local(Warp& warp, uint32_t bytes_per_lane);

// A backward jump of the current split to x.pc. True if its loop only polls: the handler returns
// Step::reschedule.
bool notice_backward_jump(Exec& x);

// Leaves the current split to its active lanes: the others go on after this instruction as a split of their
// own.
void leave_inactive_behind(Exec& x);

// The lanes of a warp are no more: the cluster's barrier does not wait for them.
void leave_cluster_barrier(Cluster& cluster, Warp& warp, LaneMask lanes); // handlers/cluster.cc

// Makes the current split, whose active lanes are `lanes`, wait at an mbarrier for the completion of a phase:
// a try_wait that has failed returns with what this says. Lanes that are not active go on after the
// instruction.
Step wait_at_mbarrier(Exec& x, const Cta& owner, uint32_t offset, bool parity);
// A phase of the mbarrier has completed: those who wait at it run their try_wait again.
void wake_mbarrier_waiters(Cluster& cluster, const Cta& owner, uint32_t offset);
// Nothing else can move: waiting try_waits return false once, unless they have done so before in the same
// state.
struct TimeOuts {
  bool any = false;   // one may go on
  bool moved = false; // ... and is in another state than when it did so last
};
TimeOuts time_out_mbarrier_waiters(Cluster& cluster);
// Something may have changed that a waiting loop looks at: all may time out again.
void allow_time_outs(Cluster& cluster);

// Lets splits that wait for lanes look again (lanes have exited or arrived).
void wake_collectives(Warp& warp);
// Lets polling splits look again; their next round is compared with the last.
void wake_polling(Warp& warp);

} // namespace lemma::vgpu
