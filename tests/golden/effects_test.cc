// The rows of effects (isa/effects.h) against execution: while the recorded cases are replayed, an observer
// sees no access, no operation and no meeting that the row of its instruction denies.
#include "golden/groups.h"
#include "golden/replay.h"
#include "isa/effects.h"
#include "lemma/observer.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace lemma::golden {
namespace {

using isa::Effects;
using isa::Opcode;
using namespace isa::effect;

// "ld.global.v4.f32": ld. The longest opcode that the words begin with.
Opcode opcode_of(std::string_view form) {
  for (size_t end = form.size(); end != std::string_view::npos; end = form.rfind('.', end - 1)) {
    if (const auto opcode = isa::parse_opcode(form.substr(0, end)))
      return *opcode;
    if (end == 0)
      break;
  }
  return Opcode::none;
}

// What a row has to say for an event to be.
Effects needed(const WatchedAccess& access) {
  const Effects order = access.semantics == "weak" ? Effects() : ordered;
  return order | (access.type == AccessType::read    ? reads
                  : access.type == AccessType::write ? writes
                                                     : updates);
}

// Any of these will do.
Effects one_needed(const WatchedSync& sync) {
  switch (sync.event) {
  case SyncEvent::fence:
  case SyncEvent::proxy_fence:
  case SyncEvent::wgmma_fence:
    return fences;
  case SyncEvent::warp_barrier:
    return masked;
  case SyncEvent::convergence:
    return masked | by_warp | by_warpgroup;
  case SyncEvent::barrier_arrive:
    return meets_cta;
  case SyncEvent::cluster_arrive:
  case SyncEvent::cluster_wait:
    return meets_cluster;
  case SyncEvent::grid_wait:
    return meets_grid;
  case SyncEvent::mbarrier_arrive:
    return sync.by_operation ? asynchronous : on_mbarrier;
  case SyncEvent::mbarrier_wait:
    return on_mbarrier;
  case SyncEvent::group_commit:
    return commits;
  case SyncEvent::group_wait:
    return waits;
  case SyncEvent::exit:
    return jumps | stops;
  default:
    return {};
  }
}

Effects needed(const WatchedOperation& operation) {
  Effects all = asynchronous;
  if (operation.bytes_read != 0)
    all = all | reads;
  if (operation.bytes_written != 0)
    all = all | writes;
  if (operation.group == "cp.async")
    all = all | cp_group;
  if (operation.group == "bulk")
    all = all | bulk_group;
  if (operation.group == "wgmma")
    all = all | wgmma_group;
  return all;
}

class Witness final : public LaunchObserver {
public:
  Watch watches() const override { return {.instructions = false}; }
  void launch_begins(const WatchedLaunch& launch) override {
    launch_ = &launch;
    opcodes_.assign(launch.instructions, Opcode::none);
  }
  void accesses(const WarpStep& step, const WatchedAccess& access) override {
    hold(step, [&](Effects row) { return row.has(needed(access)); }, "accesses memory");
  }
  void synchronizes(const WarpStep& step, const WatchedSync& sync) override {
    if (const Effects one = one_needed(sync); one.is_stated())
      hold(step, [&](Effects row) { return row.has_any(one); }, std::string(to_string(sync.event)));
  }
  void operates(const WarpStep& step, const WatchedOperation& operation) override {
    hold(step, [&](Effects row) { return row.has(needed(operation)); }, std::string(operation.kind));
  }

  std::set<std::string> denied; // "ld.u32: accesses memory"
  std::set<Opcode> seen;

private:
  template <class F>
  void hold(const WarpStep& step, F&& allows, const std::string& what) {
    if (step.instruction == kNoInstruction) // the end of a body
      return;
    const std::lock_guard lock(mutex_);
    Opcode& opcode = opcodes_[step.instruction];
    if (opcode == Opcode::none)
      opcode = opcode_of(launch_->form(step.instruction));
    seen.insert(opcode);
    if (!allows(isa::effects_of(opcode)))
      denied.insert(launch_->form(step.instruction) + ": " + what);
  }

  std::mutex mutex_;
  const WatchedLaunch* launch_ = nullptr;
  std::vector<Opcode> opcodes_; // by instruction; none: not asked yet
};

TEST(Effects, NothingIsDoneThatTheRowDenies) {
  Witness witness;
  RunOptions options;
  options.observer = &witness;
  size_t ran = 0;
  std::istringstream names(LEMMA_GROUPS);
  for (std::string name; names >> name;) {
    const Group group = make_group(name);
    EXPECT_TRUE(run_group(group, options, {},
                          [&](const Case&, std::span<const std::byte>, std::span<const std::byte>,
                              const std::string&) { ++ran; }));
  }
  for (const std::string& text : witness.denied)
    ADD_FAILURE() << text;
  EXPECT_GE(ran, 7000u);
  EXPECT_GE(witness.seen.size(), 40u);
}

// An event that a row lacks the word for is seen.
TEST(Effects, OfOtherRowsDenyWhatIsDone) {
  const auto access = [](AccessType type, std::string_view semantics) {
    WatchedAccess told;
    told.type = type;
    told.semantics = semantics;
    return needed(told);
  };
  EXPECT_FALSE(pure.has(access(AccessType::read, "weak")));
  EXPECT_FALSE(reads.has(access(AccessType::write, "weak")));
  EXPECT_FALSE(reads.has(access(AccessType::atomic, "weak")));
  EXPECT_FALSE(reads.has(access(AccessType::read, "acquire")));
  EXPECT_TRUE((reads | ordered).has(access(AccessType::read, "acquire")));
  WatchedOperation copy;
  copy.bytes_read = 4;
  EXPECT_FALSE(updates.has(needed(copy)));
  EXPECT_FALSE((asynchronous | writes).has(needed(copy)));
  EXPECT_TRUE((asynchronous | reads).has(needed(copy)));
  WatchedSync arrival;
  arrival.event = SyncEvent::barrier_arrive;
  EXPECT_FALSE(masked.has_any(one_needed(arrival)));
  EXPECT_EQ(opcode_of("bar.warp.sync"), Opcode::bar_warp_sync);
  EXPECT_EQ(opcode_of("mbarrier.arrive.shared.b64"), Opcode::mbarrier_arrive);
  EXPECT_EQ(opcode_of("ld"), Opcode::ld);
  EXPECT_EQ(opcode_of("nothing.f32"), Opcode::none);
}

} // namespace
} // namespace lemma::golden
