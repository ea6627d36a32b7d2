// Whoever accesses memory now, as the shadow memory's cells are asked: which of the earlier accesses precede
// it.
//
// Tests: tests/unit/check/order_test.cc.
#pragma once

#include "check/cluster_state.h"

#include <bit>

namespace lemma::check {

// Lanes of a warp, or an asynchronous operation that they have issued: it knows what they know.
class Accessor {
public:
  Accessor(WarpState& issuer, const Record& what) : warp(issuer), record(what) {}

  // The first of the lanes that the earlier access of `earlier_lane` does not precede; -1: it precedes all.
  int unordered(const Record& earlier, int earlier_lane, LaneMask lanes) const {
    int lane = unordered(warp.knowledge.settled_part(), earlier, earlier_lane, lanes);
    if (lane >= 0 && !warp.knowledge.is_settled())
      lane = unordered(warp.knowledge.groups(), earlier, earlier_lane, lanes);
    return lane;
  }
  // Whether accesses of those lanes precede all these, each for itself, where no fence is needed. What the
  // warp knows is not worked out for it.
  bool follows(const Record& earlier, LaneMask earlier_lanes, LaneMask lanes) const {
    for (LaneMask left = lanes; left != 0; left &= left - 1) {
      const int lane = std::countr_zero(left);
      const LaneMask unknown = unknown_of(earlier, earlier_lanes, lane);
      if (unknown == 0)
        continue;
      const Handover* const after = warp.knowledge.after(lane);
      if (!after || after->of->owner->known_of(after, earlier.cluster, earlier.agent, unknown, earlier.epoch,
                                               earlier.time) != unknown)
        return false;
    }
    return true;
  }
  // What any lane did at that time precedes all lanes of the warp, for all that is worked out already.
  bool follows_all(const Record& earlier) const {
    const bool fence = needs_fence(earlier);
    const auto covers = [&](const Clock& clock) {
      return clock.covers_all(earlier.cluster, earlier.agent, earlier.epoch);
    };
    for (const LaneGroup& group : warp.knowledge.settled_part())
      if (!covers(group.knowledge.known) || (fence && !covers(fenced(group.knowledge, earlier))))
        return false;
    return true;
  }
  // Whether an access that this one follows need not be remembered beside it: whatever conflicts with that
  // one conflicts with this one, and what this one precedes comes after both. Of one proxy alone, for others
  // may need a fence; and a strong access only for those of its size whose scope includes its own, for others
  // conflict with what this one is morally strong with.
  bool stands_for(const Record& earlier) const {
    return earlier.proxy == record.proxy && earlier.asynchronous == record.asynchronous &&
           (record.writes || !earlier.writes) && record.nc == earlier.nc &&
           (!record.is_strong() || (earlier.is_strong() && earlier.bytes == record.bytes &&
                                    earlier.order.scope >= record.order.scope));
  }
  // Known by whatever way, proxies apart.
  bool is_known(const Record& earlier, int earlier_lane, int lane) const {
    return (own_lanes(earlier, earlier_lane) >> lane & 1) != 0 ||
           covers(warp.knowledge.group_of(lane).knowledge.known, earlier, earlier_lane);
  }
  // What the generic proxy has done, the others do not see without a proxy fence.
  bool needs_fence(const Record& earlier) const {
    return record.proxy != vgpu::Proxy::generic && earlier.proxy == vgpu::Proxy::generic;
  }
  Distance distance(const Record& earlier) const { return distance_between(earlier, record); }
  // Both are strong, the scope of each includes the other's thread, and they overlap completely.
  bool morally_strong(const Record& earlier) const {
    return record.is_strong() && earlier.is_strong() && record.proxy == earlier.proxy &&
           includes(record.order.scope, distance(earlier)) &&
           includes(earlier.order.scope, distance(earlier)) && record.bytes == earlier.bytes;
  }

  WarpState& warp;
  const Record& record;
  bool shared = false;     // the memory is: a fence may be of one kind alone
  bool collective = false; // the lanes have issued it together: what one knows counts for all
  uint64_t map = 0;        // the address of the tensor map that is read, in its proxy

private:
  using Groups = std::vector<LaneGroup>;

  int unordered(const Groups& groups, const Record& earlier, int earlier_lane, LaneMask lanes) const {
    const bool fence = needs_fence(earlier);
    LaneMask wrong = 0, right = 0;
    for (const LaneGroup& group : groups) {
      LaneMask here = group.lanes & lanes;
      if (!here)
        continue;
      const Knowledge& knowledge = group.knowledge;
      if (fence && !covers(fenced(knowledge, earlier), earlier, earlier_lane)) {
        wrong |= here;
        continue;
      }
      if (!covers(knowledge.known, earlier, earlier_lane)) {
        const LaneMask own = own_lanes(earlier, earlier_lane);
        wrong |= here & ~own;
        here &= own;
      }
      right |= here;
    }
    return wrong == 0 || (collective && right != 0) ? -1 : std::countr_zero(wrong);
  }
  // Of the lanes' accesses those that do not precede the lane, for all that is worked out already.
  LaneMask unknown_of(const Record& earlier, LaneMask earlier_lanes, int lane) const {
    const auto group = std::ranges::find_if(
        warp.knowledge.settled_part(), [&](const LaneGroup& each) { return (each.lanes >> lane & 1) != 0; });
    LaneMask unknown = 0;
    vgpu::for_lanes(earlier_lanes, [&](int each) {
      const bool known =
          (own_lanes(earlier, each) >> lane & 1) != 0 || covers(group->knowledge.known, earlier, each);
      unknown |= LaneMask{!known} << each;
    });
    return unknown;
  }
  const Clock& fenced(const Knowledge& knowledge, const Record& earlier) const {
    if (record.proxy != vgpu::Proxy::tensormap)
      return knowledge.fenced[shared];
    static const Clock kNone;
    const Clock* clock = knowledge.mapped.of(map, distance(earlier));
    return clock ? *clock : kNone;
  }
  static bool covers(const Clock& clock, const Record& earlier, int lane) {
    return clock.covers(earlier.cluster, earlier.agent, lane, earlier.epoch);
  }
  // The lanes that the earlier access precedes by program order, or since they have waited for it themselves.
  LaneMask own_lanes(const Record& earlier, int lane) const {
    if (earlier.cluster != record.cluster)
      return 0;
    const LaneMask own = LaneMask{1} << lane;
    if (earlier.agent == warp.knowledge.agent())
      return earlier.every_lane || record.every_lane || (earlier.whole_warp && record.whole_warp)
                 ? vgpu::kAllLanes
                 : own;
    const auto done = [&](const std::unique_ptr<LaneGroups>& groups) {
      if (!groups)
        return false;
      const GroupsOfThread& thread = groups->lanes[static_cast<size_t>(lane)];
      return (earlier.agent == groups->write_agent && thread.done >= earlier.epoch) ||
             (earlier.agent == groups->read_agent && thread.read >= earlier.epoch);
    };
    return done(warp.knowledge.copies) || done(warp.knowledge.bulk) ? own : 0;
  }
};

} // namespace lemma::check
