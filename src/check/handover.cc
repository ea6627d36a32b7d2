// Questions go from the newest note to older ones. See handover.h.
#include "check/handover.h"

#include "check/knowledge.h"

#include <algorithm>
#include <utility>

namespace lemma::check {
bool Handover::is_soon_after(const Handover& other) const {
  constexpr int kMost = 64;
  const Handover* at = this;
  for (int i = 0; at && i < kMost; ++i, at = at->before)
    if (at == &other)
      return true;
  return false;
}

Handover& HandingOver::add(LaneMask lanes, const Handover* parent, const Handover* before, uint64_t time) {
  Handover& made = handovers[count++];
  made = {.of = this,
          .before = before,
          .parent = parent,
          .time = before ? std::max(time, before->time) : time,
          .lanes = lanes};
  return made;
}

HandingOver& Handovers::make(uint32_t most) {
  auto* made = new HandingOver;
  made->owner = this;
  made->handovers = std::make_unique_for_overwrite<Handover[]>(most);
  bytes_.fetch_add(sizeof *made + most * sizeof(Handover), std::memory_order_relaxed);
  made->made_before = made_.load(std::memory_order_relaxed);
  while (!made_.compare_exchange_weak(made->made_before, made, std::memory_order_release,
                                      std::memory_order_relaxed)) {
  }
  return *made;
}

const Handover* Handovers::root(const Knowledge& knowledge, uint64_t time) {
  HandingOver& made = make(1);
  made.bases = std::make_shared<const Bases>(1, Base{kAllLanes, knowledge});
  return &made.add(0, nullptr, nullptr, time);
}

const Handover* Handovers::both(const Handover* one, const Handover* other) {
  if (one == other || !other)
    return one;
  return one ? &make(1).add(0, other, one, other->time) : other;
}

void Handovers::begin() {
  ++mark_;
  left_.clear();
  own_.clear();
}

// False: the question has come by before.
bool Handovers::come_by(const Handover& handover) {
  ++steps_;
  return std::exchange(handover.mark, mark_) != mark_;
}

// What the note comes after is left to be looked at; `take(base)`, of each base that is new to the question.
template <class F>
void Handovers::go_back(const Handover& from, F&& take) {
  if (from.before)
    left_.push_back(from.before);
  if (from.parent) {
    left_.push_back(from.parent);
    return;
  }
  if (!from.of->bases)
    return;
  for (const Base& base : *from.of->bases)
    if ((from.lanes == 0 || (base.lanes & from.lanes) != 0) && std::exchange(base.mark, mark_) != mark_) {
      ++steps_;
      take(base);
      if (base.knowledge.later)
        left_.push_back(base.knowledge.later);
    }
}

// All that is left. What has been looked at is known no sooner than the end, when all before it is known,
// too.
void Handovers::follow(Knowledge& knowledge) {
  while (!left_.empty()) {
    const Handover& at = *left_.back();
    left_.pop_back();
    if (!come_by(at))
      continue;
    const HandingOver& of = *at.of;
    if (at.lanes != 0) {
      if (knowledge.known.covers_lanes(of.cluster, of.agent, at.lanes, of.epoch))
        continue; // and so it has all that was known there
      own_.push_back(&at);
    }
    go_back(at, [&](const Base& base) { knowledge.join_settled(base.knowledge); });
  }
  for (const Handover* own : own_)
    knowledge.known.advance(own->of->cluster, own->of->agent, own->lanes, own->of->epoch);
}

void Handovers::settle(Knowledge& knowledge) {
  const std::lock_guard lock(mutex_);
  begin();
  left_.push_back(std::exchange(knowledge.later, nullptr));
  follow(knowledge);
}

Clock Handovers::known_at(const HandingOver& instruction) {
  const std::lock_guard lock(mutex_);
  begin();
  Knowledge knowledge;
  LaneMask own = 0;
  for (uint32_t i = 0; i < instruction.count; ++i) {
    const Handover& at = instruction.handovers[i];
    own |= at.lanes;
    if (at.parent) {
      left_.push_back(at.parent);
      continue;
    }
    for (const Base& base : *instruction.bases)
      if ((base.lanes & at.lanes) != 0) {
        knowledge.join_settled(base.knowledge);
        if (base.knowledge.later)
          left_.push_back(base.knowledge.later);
      }
  }
  follow(knowledge);
  knowledge.known.advance(instruction.cluster, instruction.agent, own, instruction.epoch);
  return std::move(knowledge.known);
}

LaneMask Handovers::known_of(const Handover* after, uint64_t cluster, uint32_t agent, LaneMask lanes,
                             Epoch epoch, uint64_t time) {
  const std::lock_guard lock(mutex_);
  begin();
  left_.push_back(after);
  LaneMask found = 0;
  while (!left_.empty() && found != lanes) {
    const Handover& at = *left_.back();
    left_.pop_back();
    if (at.time < time || !come_by(at))
      continue;
    const HandingOver& of = *at.of;
    if (of.cluster == cluster && of.agent == agent && of.epoch >= epoch)
      found |= at.lanes & lanes;
    go_back(at, [&](const Base& base) {
      vgpu::for_lanes(lanes & ~found, [&](int lane) {
        found |= LaneMask{base.knowledge.known.covers(cluster, agent, lane, epoch)} << lane;
      });
    });
  }
  return found;
}

void Handovers::clear() {
  for (HandingOver* made = made_.exchange(nullptr); made;)
    delete std::exchange(made, made->made_before);
  bytes_ = 0;
}

const Clock& Known::clock() const {
  if (!is_made_)
    std::call_once(once_, [&] {
      clock_ = of_->owner->known_at(*of_);
      if (more_)
        clock_.join(*more_);
    });
  return clock_;
}

} // namespace lemma::check
