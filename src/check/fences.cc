// fence.sc, and the order that they have. In an execution it is an order of all of them. What is followed
// here is the part that a program can go by: a thread has a fence and reads a place; another one writes there
// what comes later, and has its own. Had that been the first, the read would have seen the write. So the
// reader's comes first, and whoever hears from the reader what it has read may rely on that.
//
// Not here: what else the order of a run settles, for in another run it may be another, and the program would
// not notice. Where older values are given (old_values.h) fences are in the order of the run, so that what a
// load may get is one execution's. Fences of scope .gpu and .sys alone.
//
// PTX ISA: "Memory Consistency Model": "Fence-SC", "Causality Order".
// Tests: tests/unit/check/order_test.cc, old_values_test.cc.
#include "check/checker.h"

#include <algorithm>
#include <memory>

namespace lemma::check {

void Checker::fences_in_order(WarpState& warp, const vgpu::Synchronization& sync) {
  const bool is_ordered =
      sync.order.semantics == vgpu::Semantics::sc && sync.order.scope >= vgpu::MemoryScope::gpu;
  if (is_ordered && gives_old_values_)
    warp.knowledge.acquire(sync.lanes, fence_order_);
  warp.knowledge.fence(sync.lanes, sync.order);
  if (!is_ordered)
    return;
  if (gives_old_values_)
    fence_order_.join(warp.knowledge.release(sync.lanes));
  warp.last_fence = {
      sync.lanes, std::make_shared<const Knowledge>(*warp.knowledge.released_at_fence(sync.lanes, kSameGpu))};
  for (WarpState::Overwritten& read : warp.overwritten)
    read.is_fenced |= (read.lanes & sync.lanes) != 0;
}

// Lanes read the place. The read has an epoch of its own, so that who knows of it can be told.
void Checker::reads_after_fence(WarpState& warp, LaneMask lanes, SyncLocation& location) {
  constexpr size_t kMost = 16;
  std::vector<FencedRead>& reads = location.fenced_reads;
  const bool is_known = std::ranges::any_of(reads, [&](const FencedRead& read) {
    return read.knew == warp.last_fence.knew && read.version == location.version;
  });
  if (is_known || (lanes & warp.last_fence.lanes) == 0)
    return;
  warp.knowledge.release(lanes);
  if (reads.size() == kMost)
    reads.erase(reads.begin());
  reads.push_back({warp.last_fence.knew, location.version, warp.knowledge.cluster(), warp.knowledge.agent(),
                   warp.knowledge.epoch()});
  warp.knowledge.release(lanes);
}

void Checker::overwrites_fenced(WarpState& warp, LaneMask lanes, const SyncLocation& location) {
  constexpr size_t kMost = 32;
  for (const FencedRead& read : location.fenced_reads) {
    const auto same = [&](const WarpState::Overwritten& other) { return other.read.knew == read.knew; };
    if ((read.cluster == warp.knowledge.cluster() && read.agent == warp.knowledge.agent()) ||
        std::ranges::any_of(warp.overwritten, same))
      continue;
    if (warp.overwritten.size() == kMost)
      warp.overwritten.erase(warp.overwritten.begin());
    warp.overwritten.push_back({lanes, false, read});
  }
}

// Lanes have read what that thread has written, perhaps after a read of its that they wait to hear of.
void Checker::hears_of_reads(WarpState& warp, LaneMask lanes, const StrongWriter& writer) {
  std::erase_if(warp.overwritten, [&](const WarpState::Overwritten& each) {
    const FencedRead& read = each.read;
    if (!each.is_fenced || (lanes & each.lanes) == 0 ||
        !writer.knew->clock().covers_any(read.cluster, read.agent, read.epoch))
      return false;
    warp.knowledge.acquire(lanes & each.lanes, *read.knew);
    return true;
  });
}

} // namespace lemma::check
