// Copies on write: a part of a clock that nobody else holds is changed where it lies. See clock.h.
#include "check/clock.h"

#include <algorithm>
#include <atomic>

namespace lemma::check {

void Times::set(const Lanes& lanes) {
  const auto [least, most] = std::minmax_element(lanes.begin(), lanes.end());
  all_ = *least;
  if (*least == *most)
    lanes_ = nullptr;
  else
    lanes_ = std::make_shared<const Lanes>(lanes);
}

void Times::advance(LaneMask lanes, Epoch epoch) {
  if (all_ >= epoch)
    return;
  if (lanes == kAllLanes && !lanes_) {
    all_ = epoch;
    return;
  }
  Lanes times;
  for (int lane = 0; lane < kWarpSize; ++lane)
    times[static_cast<size_t>(lane)] = (lanes >> lane & 1) ? std::max(of(lane), epoch) : of(lane);
  set(times);
}

void Times::join(const Times& other) {
  if (!lanes_ && !other.lanes_) {
    all_ = std::max(all_, other.all_);
    return;
  }
  if (lanes_ == other.lanes_ || (!other.lanes_ && other.all_ <= all_))
    return;
  Lanes times;
  for (int lane = 0; lane < kWarpSize; ++lane)
    times[static_cast<size_t>(lane)] = std::max(of(lane), other.of(lane));
  set(times);
}

Clock::Agents& Clock::own(Part& part) {
  if (part.agents.use_count() != 1) {
    part.agents = std::make_shared<Agents>(*part.agents);
  } else { // whoever let go of it has read it before
    std::atomic_thread_fence(std::memory_order_acquire);
  }
  return *part.agents;
}

Clock::Part& Clock::part_of(uint64_t cluster) {
  auto at = std::lower_bound(parts_.begin(), parts_.end(), cluster,
                             [](const Part& part, uint64_t id) { return part.cluster < id; });
  if (at == parts_.end() || at->cluster != cluster)
    at = parts_.insert(at, {cluster, std::make_shared<Agents>()});
  return *at;
}

void Clock::advance(uint64_t cluster, uint32_t agent, LaneMask lanes, Epoch epoch) {
  Part& part = part_of(cluster);
  Agents& agents = own(part);
  if (agents.size() <= agent)
    agents.resize(agent + 1);
  agents[agent].advance(lanes, epoch);
}

void Clock::join(const Clock& other) {
  if (parts_.empty()) {
    parts_ = other.parts_;
    return;
  }
  for (const Part& theirs : other.parts_) {
    const auto at = std::lower_bound(parts_.begin(), parts_.end(), theirs.cluster,
                                     [](const Part& part, uint64_t id) { return part.cluster < id; });
    if (at == parts_.end() || at->cluster != theirs.cluster) {
      parts_.insert(at, theirs);
      continue;
    }
    Part& part = *at;
    if (part.agents == theirs.agents)
      continue;
    Agents& agents = own(part);
    if (agents.size() < theirs.agents->size())
      agents.resize(theirs.agents->size());
    for (size_t i = 0; i < theirs.agents->size(); ++i)
      agents[i].join((*theirs.agents)[i]);
  }
}

bool Clock::shares_with(const Clock& other) const {
  return std::equal(
      parts_.begin(), parts_.end(), other.parts_.begin(), other.parts_.end(),
      [](const Part& a, const Part& b) { return a.cluster == b.cluster && a.agents == b.agents; });
}

} // namespace lemma::check
