// Parts of a warp that wait for something outside of the warp: for memory that a loop polls, for an mbarrier,
// for time.
//
// Polling. A loop polls if its state at a backward jump comes round again: the same registers, and no store
// or arrival in between. What it reads from memory must then be the same each time, so it goes on for ever
// unless somebody else writes. Registers that hold clocks do not count (lowered/loops.h): such a loop goes
// on for ever unless somebody writes, or its time is over.
//
// Mbarriers. A try_wait that fails waits until the phase completes. When nothing else can move it returns
// false once, as a time-out, so that a loop that does more than wait can do it. So does a test_wait that
// fails for the second time with nothing done in between.
//
// Time. A cluster's clock moves by the instructions of the warp that executed most in a pass over them all,
// for warps run side by side. A nanosleep gives way until the clock has come to its end. A part that waits
// otherwise, and that has read a clock since it last did something, goes on too when the clock has moved: by
// 1 us, and each time that it then comes back in the same state by twice as much, up to more than an hour.
// When nothing in the grid can move but by time, the clocks jump there (scheduler.cc). So a loop with a
// time-out ends by it, in few rounds, and one without is found to wait for ever.
//
// Tests: tests/unit/vgpu/polling_test.cc, core_test.cc, mbarrier_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

namespace lemma::vgpu {

// --- loops that poll

// A backward jump of the current split to x.pc. True if its loop only polls: the handler returns
// Step::reschedule.
bool notice_backward_jump(Exec& x);
// Lets splits that poll look again, and those that wait for the grids before; a loop's next round is compared
// with the last.
void wake_polling(Warp& warp);

// --- mbarriers

// Makes the current split, whose active lanes are `lanes`, wait at an mbarrier for the completion of a phase:
// a try_wait that has failed returns with what this says. Lanes that are not active go on after the
// instruction.
Step wait_at_mbarrier(Exec& x, const Cta& owner, uint32_t offset, bool parity);
// A test_wait of the current split has failed. True if the one before did so too, and nothing has happened
// since: it may wait as a try_wait does.
bool test_failed_again(Exec& x);
// Whether the phase has completed that the split has waited for at this mbarrier, by a try_wait that now runs
// again. The object does not tell any more where the phase after it has completed, too.
bool has_ended(const Split& split, const Cta& owner, uint32_t offset, bool parity);
// What a wait returns with that has found its phase complete, its results written.
Step go_on_after_wait(Exec& x);
// A phase of the mbarrier has completed: those who wait for it run their try_wait again.
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

// --- time

// The time at the current instruction, in ticks; the current split may depend on it.
uint64_t read_clock(Exec& x);
// The current split goes on after this instruction, in `ns`.
Step start_sleep(Exec& x, uint64_t ns);
// Splits whose time has come go on.
void wake_by_clock(Cluster& cluster);

} // namespace lemma::vgpu
