// The rules by which clocks move. See knowledge.h.
#include "check/knowledge.h"

#include <algorithm>
#include <bit>

namespace lemma::check {

using vgpu::MemoryScope;
using vgpu::Semantics;

const Clock* MapClocks::of(uint64_t map, Distance distance) const {
  if (!fenced_)
    return nullptr;
  const auto found = fenced_->acquired.find(map);
  return found == fenced_->acquired.end() ? nullptr : &found->second[distance];
}

bool MapClocks::is_released(Distance distance, uint64_t cluster, uint32_t agent, int lane,
                            Epoch epoch) const {
  return fenced_ && fenced_->released[distance].covers(cluster, agent, lane, epoch);
}

void MapClocks::release(const Clock& known, vgpu::MemoryScope scope) {
  auto fenced = fenced_ ? std::make_shared<Fenced>(*fenced_) : std::make_shared<Fenced>();
  for (uint8_t distance = 0; distance < kDistances; ++distance)
    if (includes(scope, static_cast<Distance>(distance)))
      fenced->released[distance].join(known);
  fenced_ = std::move(fenced);
}

void MapClocks::acquire(uint64_t map, vgpu::MemoryScope scope) {
  auto fenced = fenced_ ? std::make_shared<Fenced>(*fenced_) : std::make_shared<Fenced>();
  Clocks& acquired = fenced->acquired[map];
  for (uint8_t distance = 0; distance < kDistances; ++distance)
    if (includes(scope, static_cast<Distance>(distance)))
      acquired[distance].join(fenced->released[distance]);
  fenced_ = std::move(fenced);
}

void MapClocks::join(const MapClocks& other) {
  if (!other.fenced_ || shares_with(other))
    return;
  if (!fenced_) {
    fenced_ = other.fenced_;
    return;
  }
  auto fenced = std::make_shared<Fenced>(*fenced_);
  const auto add = [](Clocks& to, const Clocks& clocks) {
    for (size_t distance = 0; distance < kDistances; ++distance)
      to[distance].join(clocks[distance]);
  };
  add(fenced->released, other.fenced_->released);
  for (const auto& [map, clocks] : other.fenced_->acquired)
    add(fenced->acquired[map], clocks);
  fenced_ = std::move(fenced);
}

const LaneGroup& WarpKnowledge::group_of(int lane) const {
  const std::vector<LaneGroup>& groups = this->groups();
  return *std::find_if(groups.begin(), groups.end(),
                       [&](const LaneGroup& group) { return (group.lanes >> lane & 1) != 0; });
}

template <class F>
void WarpKnowledge::split(LaneMask lanes, F&& f) const {
  const size_t count = groups_.size();
  bases_ = nullptr;
  for (size_t i = 0; i < count; ++i) {
    const LaneMask here = groups_[i].lanes & lanes;
    if (!here)
      continue;
    if (here != groups_[i].lanes) {
      groups_.push_back(groups_[i]);
      groups_.back().lanes &= ~here;
      groups_[i].lanes = here;
    }
    f(groups_[i]);
  }
}

template <class F>
void WarpKnowledge::each_part(LaneMask lanes, F&& f) {
  ++changes_;
  fold();
  split(lanes, f);
}

template <class F>
void WarpKnowledge::each_group(LaneMask lanes, F&& f) {
  each_part(lanes, f);
  merge();
}

void WarpKnowledge::merge() const {
  has_later_ = std::ranges::any_of(groups_, [](const LaneGroup& group) { return group.knowledge.later; });
  for (size_t i = 0; i < groups_.size(); ++i)
    for (size_t j = groups_.size() - 1; j > i; --j)
      if (groups_[i].same_as(groups_[j])) {
        groups_[i].lanes |= groups_[j].lanes;
        groups_.erase(groups_.begin() + static_cast<ptrdiff_t>(j));
      }
}

void WarpKnowledge::fold() const {
  while (after_lanes_ != 0) {
    const Handover* const after = after_[static_cast<size_t>(std::countr_zero(after_lanes_))];
    LaneMask alike = 0;
    vgpu::for_lanes(after_lanes_,
                    [&](int lane) { alike |= LaneMask{after_[static_cast<size_t>(lane)] == after} << lane; });
    after_lanes_ &= ~alike;
    has_later_ = true;
    split(alike, [&](LaneGroup& group) {
      group.knowledge.later = after->of->owner->both(after, group.knowledge.later);
    });
  }
}

void WarpKnowledge::settle() const {
  fold();
  bases_ = nullptr;
  for (LaneGroup& group : groups_)
    group.knowledge.settle();
  merge();
}

const Handover* WarpKnowledge::after(int lane) const {
  if (after_lanes_ >> lane & 1)
    return after_[static_cast<size_t>(lane)];
  return has_later_ ? std::ranges::find_if(
                          groups_, [&](const LaneGroup& group) { return (group.lanes >> lane & 1) != 0; })
                          ->knowledge.later
                    : nullptr;
}

HandingOver& WarpKnowledge::begin_handover(Handovers& handovers, int lanes) {
  if (!bases_) {
    Bases bases;
    for (const LaneGroup& group : groups_)
      bases.push_back({group.lanes, group.knowledge});
    bases_ = std::make_shared<const Bases>(std::move(bases));
  }
  HandingOver& made = handovers.make(static_cast<uint32_t>(lanes));
  made.bases = bases_;
  made.cluster = cluster_;
  made.agent = agent_;
  made.epoch = epoch_++;
  return made;
}

const Handover* WarpKnowledge::hand_over(HandingOver& instruction, LaneMask lanes, const Handover* before,
                                         uint64_t time) {
  if (const LaneMask others = lanes & ~after_lanes_)
    before = &instruction.add(others, nullptr, before, time);
  for (LaneMask left = lanes & after_lanes_; left != 0;) {
    const Handover* const after = after_[static_cast<size_t>(std::countr_zero(left))];
    LaneMask alike = 0;
    vgpu::for_lanes(left,
                    [&](int lane) { alike |= LaneMask{after_[static_cast<size_t>(lane)] == after} << lane; });
    before = &instruction.add(alike, after, before, time);
    left &= ~alike;
  }
  return before;
}

void WarpKnowledge::come_after(LaneMask lanes, const Handover* after) {
  vgpu::for_lanes(lanes, [&](int lane) { after_[static_cast<size_t>(lane)] = after; });
  after_lanes_ |= lanes;
  ++changes_;
}

void WarpKnowledge::add_own(Clock& clock, LaneMask lanes, Epoch epoch) const {
  clock.advance(cluster_, agent_, lanes, epoch);
  const auto add = [&](uint32_t agent, const LaneGroups& groups, Epoch GroupsOfThread::* member) {
    for (LaneMask left = lanes; left != 0;) { // lanes that are equally far, together
      const Epoch done = groups.lanes[static_cast<size_t>(std::countr_zero(left))].*member;
      LaneMask alike = 0;
      for (LaneMask rest = left; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        alike |= LaneMask{groups.lanes[static_cast<size_t>(lane)].*member == done} << lane;
      }
      if (done)
        clock.advance(cluster_, agent, alike, done);
      left &= ~alike;
    }
  };
  if (copies)
    add(copies->write_agent, *copies, &GroupsOfThread::done);
  if (bulk) {
    add(bulk->write_agent, *bulk, &GroupsOfThread::done);
    add(bulk->read_agent, *bulk, &GroupsOfThread::read);
  }
  if (moves && moves->loads > 1)
    clock.advance(cluster_, moves->load_agent, lanes, moves->loads - 1);
  if (moves && moves->stores > 1)
    clock.advance(cluster_, moves->store_agent, lanes, moves->stores - 1);
}

Knowledge WarpKnowledge::all_of(LaneMask lanes) const {
  Knowledge all;
  for (const LaneGroup& group : groups())
    if (group.lanes & lanes)
      all.join(group.knowledge);
  add_own(all.known, lanes, epoch_);
  return all;
}

Knowledge WarpKnowledge::release(LaneMask lanes) {
  Knowledge released = all_of(lanes);
  ++epoch_;
  return released;
}

Knowledge WarpKnowledge::release_later(LaneMask lanes, uint64_t time) {
  if (is_settled() || !may_hand_over())
    return release(lanes);
  const Handover* some = nullptr;
  for (int lane = 0; !some; ++lane)
    some = after(lane);
  HandingOver& made = begin_handover(*some->of->owner, std::popcount(lanes));
  Knowledge released;
  released.later = hand_over(made, lanes, nullptr, time);
  return released;
}

std::optional<Knowledge> WarpKnowledge::released_at_fence(LaneMask lanes, Distance distance) const {
  std::optional<Knowledge> released;
  if (!has_release_fence_)
    return released;
  for (const LaneGroup& group : groups_)
    if ((group.lanes & lanes) != 0 && group.fence_epoch && includes(group.fence_scope, distance)) {
      if (!released)
        released.emplace();
      released->join(group.at_fence);
      add_own(released->known, group.lanes & lanes, group.fence_epoch);
    }
  return released;
}

void WarpKnowledge::acquire(LaneMask lanes, const Knowledge& learned) {
  each_group(lanes, [&](LaneGroup& group) { group.knowledge.join(learned); });
}

void WarpKnowledge::see(LaneMask lanes, const Knowledge& learned, Distance distance, const SyncPair& by) {
  each_part(lanes, [&](LaneGroup& group) { // who has seen something stays alone
    group.seen[distance].join(learned);
    group.has_seen = true;
    constexpr size_t kMostReads = 4;
    const bool is_known = std::any_of(group.seen_by.begin(), group.seen_by.end(),
                                      [&](const SyncPair& pair) { return pair.read == by.read; });
    if (!is_known && group.seen_by.size() < kMostReads)
      group.seen_by.push_back(by);
  });
}

void WarpKnowledge::become(LaneMask lanes, const Knowledge& knowledge) {
  after_lanes_ &= ~lanes;
  each_group(lanes, [&](LaneGroup& group) { group.knowledge = knowledge; });
}

void WarpKnowledge::fence(LaneMask lanes, vgpu::MemoryOrder order) {
  const bool acquires = order.semantics != Semantics::release;
  const bool releases = order.semantics != Semantics::acquire;
  if (!is_settled())
    settle();
  each_group(lanes, [&](LaneGroup& group) {
    if (acquires && group.has_seen) {
      group.has_seen = false;
      for (int distance = 0; distance < kDistances; ++distance) {
        Knowledge& seen = group.seen[static_cast<size_t>(distance)];
        if (includes(order.scope, static_cast<Distance>(distance))) {
          group.knowledge.join(seen);
          seen.clear();
        } else {
          group.has_seen |= !seen.known.empty();
        }
      }
      group.fenced_narrowly = group.has_seen;
      if (!group.has_seen)
        group.seen_by.clear();
    }
    if (releases) {
      group.at_fence = group.knowledge;
      group.fence_epoch = epoch_;
      group.fence_scope = order.scope;
    }
  });
  if (releases) {
    ++epoch_;
    has_release_fence_ = true;
  }
}

void WarpKnowledge::proxy_fence(LaneMask lanes, bool global, bool shared) {
  if (!is_settled())
    settle();
  each_group(lanes, [&](LaneGroup& group) {
    Clock fenced = group.knowledge.known;
    add_own(fenced, group.lanes, epoch_);
    if (global)
      group.knowledge.fenced[0] = fenced;
    if (shared)
      group.knowledge.fenced[1] = std::move(fenced);
  });
  ++epoch_;
}

void WarpKnowledge::map_release(LaneMask lanes, MemoryScope scope) {
  if (!is_settled())
    settle();
  each_group(lanes, [&](LaneGroup& group) {
    Clock clock = group.knowledge.known;
    add_own(clock, group.lanes, epoch_);
    group.knowledge.mapped.release(clock, scope);
  });
  ++epoch_;
}

void WarpKnowledge::map_acquire(LaneMask lanes, MemoryScope scope, uint64_t map) {
  if (!is_settled())
    settle();
  each_group(lanes, [&](LaneGroup& group) { group.knowledge.mapped.acquire(map, scope); });
}

// Hands on what the lanes have issued, what of that they have waited for, and what that comes after.
void WarpKnowledge::tensor_fence_before(LaneMask lanes) {
  if (!is_settled())
    settle();
  each_group(lanes, [&](LaneGroup& group) {
    group.knowledge.tensor.join(group.tensor_fenced);
    add_own(group.knowledge.tensor, group.lanes, epoch_);
  });
  ++epoch_;
}

void WarpKnowledge::tensor_fence_after(LaneMask lanes) {
  if (!is_settled())
    settle();
  each_group(lanes, [&](LaneGroup& group) { group.tensor_fenced.join(group.knowledge.tensor); });
}

Clock WarpKnowledge::tensor_of(LaneMask lanes) const {
  Clock all;
  for (const LaneGroup& group : groups())
    if (group.lanes & lanes)
      all.join(group.knowledge.tensor);
  return all;
}

void WarpKnowledge::take_tensor(LaneMask lanes, const Clock& tensor) {
  if (!tensor.empty())
    each_group(lanes, [&](LaneGroup& group) { group.knowledge.tensor.join(tensor); });
}

void WarpKnowledge::synchronize(LaneMask lanes, uint64_t time) {
  become(lanes, release_later(lanes, time));
}

} // namespace lemma::check
