// Waiting for memory, mbarriers and time. Comparing a loop's states is dear, so it is done only after 64,
// 128, 256, ... backward jumps without an effect, and then for a short window; a loop that computes pays
// about 2%. Those with large frames compare less often, so that they pay no more.
#include "vgpu/engine/waiting.h"

#include "vgpu/code/loops.h"
#include "vgpu/engine/schedule.h"
#include "vgpu/engine/warp.h"

#include <algorithm>
#include <bit>

namespace lemma::vgpu {
namespace {

constexpr uint64_t kComparedAfterWake = 256;             // backward jumps
constexpr uint64_t kFirstClockStep = 1000 * kTicksPerNs; // 1 us
constexpr uint32_t kLastClockRound = 32;                 // by then the clock has moved by more than an hour

uint64_t hash_range(const std::byte* frame, FrameRange range, uint64_t hash) {
  const auto* words = reinterpret_cast<const uint64_t*>(frame + range.begin);
  const size_t count = (range.end - range.begin) / 8;
  uint64_t h[4] = {hash, hash + 1, hash + 2, hash + 3};
  size_t i = 0;
  for (; i + 4 <= count; i += 4)
    for (int j = 0; j < 4; ++j)
      h[j] = std::rotl((h[j] ^ words[i + j]) * 0xff51afd7ed558ccdu, 31);
  for (; i < count; ++i)
    h[0] = std::rotl((h[0] ^ words[i]) * 0xff51afd7ed558ccdu, 31);
  return (h[0] ^ std::rotl(h[1], 17)) * 0xc4ceb9fe1a85ec53u ^ h[2] ^ std::rotl(h[3], 29);
}

uint64_t hash_state(const Split& split) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ split.mask;
  for (const CallFrame& call : split.stack) {
    for (const FrameRange& range : call.code->loop_state)
      hash = hash_range(call.frame->data, range, hash);
    hash ^= call.return_pc;
  }
  return hash;
}

// The same for a backward jump to `pc`, which is compared with none but those to the same pc: where the loop
// is the kernel's own, what it cannot change is left out.
uint64_t hash_at_jump(const Split& split, uint32_t pc) {
  const CallFrame& call = split.stack.back();
  const Code::Loop* loop = split.stack.size() == 1 ? loop_around(*call.code, pc) : nullptr;
  if (!loop)
    return hash_state(split);
  uint64_t hash = 0xc2b2ae3d27d4eb4fu * (loop->begin + 1) ^ split.mask;
  for (const FrameRange& range : loop->changes)
    hash = hash_range(call.frame->data, range, hash);
  return hash;
}

// How much longer the state takes to compare than that of an ordinary function.
uint64_t weight(const Split& split) {
  constexpr uint64_t kOrdinaryBytes = 16 * 1024;
  uint64_t bytes = 0;
  for (const CallFrame& call : split.stack)
    bytes += call.code->frame_bytes;
  return 1 + bytes / kOrdinaryBytes;
}

uint64_t now(const Exec& x) {
  return x.cta->cluster->clock + x.executed * kTicksPerInstruction;
}

void set_wake(Cluster& cluster, Split& split, uint64_t wake) {
  split.wake = wake;
  cluster.next_wake = std::min(cluster.next_wake, wake);
}

void make_ready(Split& split) {
  split.state = SplitState::ready;
  split.wake = kNever;
}

void poll_again(const Warp& warp, Split& split) {
  make_ready(split);
  split.polling.effects_seen = warp.effects;
  split.polling.compare_until = split.polling.backward_jumps + kComparedAfterWake;
  split.polling.quiet_until = 0;
}

// Whether the split has read a clock since the warp last did something.
bool depends_on_clock(const Warp& warp, const Split& split) {
  return split.clock_read_at == warp.effects + 1;
}

// The current split begins to wait, with its pc set: may the clock let it go on, and when?
void wait_for_clock_too(Exec& x, Split& split) {
  split.wake = kNever;
  if (!depends_on_clock(*x.warp, split))
    return;
  const uint64_t state = hash_state(split) ^ split.pc;
  if (state != split.clock_state)
    split.clock_rounds = 0;
  else
    split.clock_rounds += split.woken_by_clock;
  split.clock_state = state;
  split.woken_by_clock = false;
  if (split.clock_rounds >= kLastClockRound)
    return;
  const uint64_t step = kFirstClockStep << split.clock_rounds;
  set_wake(*x.cta->cluster, split, (now(x) / step + 1) * step); // in step with others
}

} // namespace

// --- loops that poll

bool notice_backward_jump(Exec& x) {
  Split& split = x.warp->splits[x.split];
  Polling& polling = split.polling;
  if (polling.effects_seen != x.warp->effects)
    polling = {.effects_seen = x.warp->effects};
  const uint64_t jumps = ++polling.backward_jumps;
  if (jumps < polling.quiet_until)
    return false;
  if (polling.snapshot_pc == x.pc && jumps <= polling.compare_until) {
    if (hash_at_jump(split, x.pc) == polling.snapshot) {
      split.pc = split.wait_pc = x.pc;
      split.state = SplitState::polling;
      wait_for_clock_too(x, split);
      return true;
    }
  } else if (std::has_single_bit(jumps) && jumps >= kFirstSnapshot * weight(split)) {
    polling.snapshot = hash_at_jump(split, x.pc);
    polling.snapshot_pc = x.pc;
    polling.compare_until = jumps + std::clamp<uint64_t>(jumps / (32 * weight(split)), 2, 256);
  }
  polling.quiet_until = jumps < polling.compare_until ? jumps + 1 : std::bit_ceil(jumps + 1);
  return false;
}

void wake_polling(Warp& warp) {
  for (Split& split : warp.splits)
    if (split.state == SplitState::polling)
      poll_again(warp, split);
    else if (split.state == SplitState::at_grid_wait || split.state == SplitState::at_tensor_memory)
      make_ready(split);
}

// --- mbarriers

Step wait_at_mbarrier(Exec& x, const Cta& owner, uint32_t offset, bool parity) {
  leave_inactive_behind(x);
  Split& split = x.warp->splits[x.split];
  split.pc = split.wait_pc = x.pc;
  split.state = SplitState::at_mbarrier;
  split.mbarrier_rank = owner.rank;
  split.mbarrier_offset = offset;
  split.mbarrier_parity = parity;
  split.phase_ended = false;
  wait_for_clock_too(x, split);
  return Step::reschedule;
}

bool test_failed_again(Exec& x) {
  Split& split = x.warp->splits[x.split];
  const bool again = split.failed_test_pc == x.pc && split.failed_test_effects == x.warp->effects;
  split.failed_test_pc = x.pc;
  split.failed_test_effects = x.warp->effects;
  return again;
}

bool has_ended(const Split& split, const Cta& owner, uint32_t offset, bool parity) {
  return split.phase_ended && split.mbarrier_rank == owner.rank && split.mbarrier_offset == offset &&
         split.mbarrier_parity == parity;
}

Step go_on_after_wait(Exec& x) {
  if (!x.launch->schedule->waits_end_slices)
    return Step::next;
  x.warp->splits[x.split].pc = x.pc + 1;
  x.gives_way = true;
  return Step::done;
}

void wake_mbarrier_waiters(Cluster& cluster, const Cta& owner, uint32_t offset) {
  for (const auto& cta : cluster.ctas)
    for (Warp& warp : cta->warps)
      for (Split& split : warp.splits)
        if (split.state == SplitState::at_mbarrier && split.mbarrier_rank == owner.rank &&
            split.mbarrier_offset == offset) {
          make_ready(split);
          split.timeout_snapshot = 0;
          split.phase_ended = true;
        }
}

// A split that comes back to its try_wait in the state it left in has nothing new to say; it stays.
TimeOuts time_out_mbarrier_waiters(Cluster& cluster) {
  TimeOuts result;
  for (const auto& cta : cluster.ctas)
    for (Warp& warp : cta->warps)
      for (Split& split : warp.splits) {
        if (split.state != SplitState::at_mbarrier)
          continue;
        const uint64_t state = hash_state(split) ^ warp.effects;
        if (state == split.timeout_snapshot)
          continue;
        result.any = true;
        // Not last_poll: in between a loop may have been found to poll, in the same state each time too.
        result.moved |= split.last_time_out != state;
        split.timeout_snapshot = split.last_time_out = state;
        split.timed_out = true;
        make_ready(split);
      }
  return result;
}

void allow_time_outs(Cluster& cluster) {
  for (const auto& cta : cluster.ctas)
    for (Warp& warp : cta->warps)
      for (Split& split : warp.splits)
        if (!depends_on_clock(warp, split)) // else it looks again when the clock has moved
          split.timeout_snapshot = 0;
}

// --- time

uint64_t read_clock(Exec& x) {
  x.warp->splits[x.split].clock_read_at = x.warp->effects + 1;
  return now(x);
}

Step start_sleep(Exec& x, uint64_t ns) {
  Split& split = x.warp->splits[x.split];
  split.wait_pc = x.pc;
  split.pc = x.pc + 1;
  split.state = SplitState::sleeping;
  set_wake(*x.cta->cluster, split, now(x) + ns * kTicksPerNs);
  return Step::reschedule;
}

void wake_by_clock(Cluster& cluster) {
  if (cluster.clock < cluster.next_wake)
    return;
  cluster.next_wake = kNever;
  for (const auto& cta : cluster.ctas)
    for (Warp& warp : cta->warps)
      for (Split& split : warp.splits) {
        if (split.wake > cluster.clock) {
          cluster.next_wake = std::min(cluster.next_wake, split.wake);
          continue;
        }
        split.woken_by_clock |= split.state != SplitState::sleeping;
        split.timed_out |= split.state == SplitState::at_mbarrier;
        split.state == SplitState::polling ? poll_again(warp, split) : make_ready(split);
      }
}

} // namespace lemma::vgpu
