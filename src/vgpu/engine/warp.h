// Runs one warp: picks which of its diverged parts goes on, and joins parts that meet.
//
// Order: the deepest call first, then the lowest pc (see ptx/flow.h: parts then meet as early as the program
// allows), but for schedules that let the higher one run a basic block before (schedule.h). So that a
// spinning part never starves the one it waits for, a part that has run long while others were ready gives
// way.
//
// Not here: how a part waits for memory, an mbarrier or time (waiting.h).
//
// Tests: tests/unit/vgpu/core_test.cc, tests/programs/divergence.
#pragma once

#include "vgpu/compiled/compiled_code.h"
#include "vgpu/engine/exec.h"

namespace lemma::vgpu {

class WarpRunner {
public:
  // `worker`: which of the launch's threads it runs on.
  WarpRunner(Launch& launch, uint32_t worker);

  // Before warps of this cluster run.
  void begin_turn(const Cluster& cluster);

  // False: no part of it is ready.
  static bool may_run(const Warp& warp) {
    return warp.splits.size() == 1 ? warp.splits[0].state == SplitState::ready : !warp.splits.empty();
  }

  // What running it begins with is in the host's caches by then.
  static void prefetch([[maybe_unused]] const Warp& warp) {
#if defined(__GNUC__)
    if (!warp.splits.empty())
      __builtin_prefetch(warp.splits[0].stack.data());
#endif
  }

  // Runs `warp` until no part of it is ready or about `budget` instructions were executed. Returns how many
  // were. launch.stop is set when a fault was recorded: an exception is one, too.
  uint64_t run(Cta& cta, Warp& warp, uint64_t budget);

  // For compiled code: executes an instruction for Exec::active that asks what was written, or says what it
  // writes, or of which somebody is told.
  static Step execute_with_care(Exec& x, const DecodedInst& in, bool is_watched);

  // Set when a part came to wait in a state other than the one it last waited in: something moved, though
  // perhaps nothing that another warp can see.
  bool moved = false;
  WorkerCounts& stats() { return exec_.stats; }
  bool used_approximate() const { return exec_.approximate; }
  bool added_floats() const { return exec_.float_atomics; }

private:
  size_t pick();
  size_t pick_of_several();
  size_t pick_other_path() const;
  uint64_t to_block_end();
  void load(size_t split);
  bool join_meeting_splits();
  struct Meeting {
    uint32_t pc = ptx::kNone;
    bool others_below = false; // of that pc
  };
  Meeting find_meeting() const;
  // What the loop tells an observer, as opposed to the handlers; registers: it tells nobody, but looks
  // whether instructions touch those that wgmma has in flight.
  enum class Tells : uint8_t { nothing, registers, values, instructions };
  bool may_go_on(uint64_t end, bool exactly) const;
  // Executes the loaded split, so many instructions and the rest of a segment (segments.h), or exactly so
  // many; Exec::executed counts.
  template <Tells tells>
  void execute(uint64_t budget, bool exactly);
  // How far the split goes that runs, in instructions as Exec::executed counts them.
  struct Slice {
    uint64_t turn_end = 0, end = 0; // of the warp; of this part of it
    uint64_t ran = 0;               // by the part until `part_begin`, while there are others
    uint64_t part_begin = 0;
    size_t parts = 1;
    Meeting meeting = {};
    uint64_t lanes = 0; // lane instructions
    bool has_ended = false;
  };
  Step run_compiled(CompiledEntry entry, Slice& slice);
  template <Tells tells>
  static Step execute_with_care(Exec& x, const DecodedInst& in, bool runs);
  template <Tells tells>
  Step execute_run(const DecodedInst* in, uint64_t count);
  void note_waiting(Warp& warp);

  uint64_t run_parts(Warp& warp, uint64_t budget);
  void count_before_others(size_t parts, uint64_t ran);

  Launch& launch_;
  Exec exec_;
  Tells tells_ = Tells::nothing;                                    // the observer of the warp that runs
  uint32_t visits_before_compiling_ = kNeverCompiled;               // of a segment, in this turn
  const bool other_path_first_;                                     // Schedule::other_path_first
  std::unordered_map<const Code*, std::vector<bool>> block_begins_; // by instruction of the text; for that
};

// Makes a warp ready to start a kernel at its entry. `lanes` exist. `poison_key`: of what they do not write.
// What the warp takes of the host's memory, now and later, `budget` has given. The kernel's registers are the
// CTA's (Cta::frames).
void start_warp(Warp& warp, uint32_t index, LaneMask lanes, const Code& entry, uint64_t poison_key,
                MemoryBudget& budget);

// A frame for activations of `code`, whose memory `taken` counts.
std::unique_ptr<Frame> make_frame(const Code& code, MemoryShare& taken);

// The frame of `code`, which is no kernel, at a call depth, made when first needed. Nothing in it is written
// by `lanes`.
Frame* activate_frame(Warp& warp, size_t depth, const Code& code, LaneMask lanes);

// Makes sure that every lane has this much local memory; false if a lane may not have so much.
bool reserve_local(Warp& warp, uint64_t bytes_per_lane);

// The lanes begin anew with these bytes of their local memory: none is written.
void forget_local(Warp& warp, uint64_t begin, uint64_t end, LaneMask lanes);

// The active lanes write a register: what they carried in it is gone.
void drop_carried(Exec& x, const Slot& slot);

// Leaves the current split to its active lanes: the others go on after this instruction as a split of their
// own.
void leave_inactive_behind(Exec& x);

// The lanes of a warp are no more: the cluster's barrier does not wait for them.
void leave_cluster_barrier(Cluster& cluster, Warp& warp, LaneMask lanes); // handlers/control/cluster.cc

// Lets splits that wait for lanes look again (lanes have exited or arrived).
void wake_collectives(Warp& warp);

} // namespace lemma::vgpu
