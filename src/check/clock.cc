// Copies on write: what nobody else holds is changed where it lies. See clock.h.
#include "check/clock.h"

#include <algorithm>
#include <atomic>
#include <bit>

namespace lemma::check {
namespace {

template <typename T>
T& own(std::shared_ptr<T>& shared) {
  if (shared.use_count() != 1)
    shared = std::make_shared<T>(*shared);
  else // whoever let go of it has read it before
    std::atomic_thread_fence(std::memory_order_acquire);
  return *shared;
}

using AgentTimes = std::shared_ptr<std::vector<Times>>;

bool covers_all_of(const AgentTimes& ours, const AgentTimes& theirs) {
  return ours == theirs ||
         (ours->size() >= theirs->size() &&
          std::equal(theirs->begin(), theirs->end(), ours->begin(),
                     [](const Times& other, const Times& own) { return own.covers(other); }));
}

void join_all(AgentTimes& ours, const AgentTimes& theirs) {
  if (covers_all_of(ours, theirs))
    return;
  if (covers_all_of(theirs, ours)) {
    ours = theirs;
    return;
  }
  std::vector<Times>& times = own(ours);
  times.resize(std::max(times.size(), theirs->size()));
  for (size_t i = 0; i < theirs->size(); ++i)
    times[i].join((*theirs)[i]);
}

// The first part of [from, end) whose cluster is not less: most often that is the first.
template <typename Iterator>
Iterator seek(Iterator from, Iterator end, uint64_t cluster) {
  if (from == end || from->cluster >= cluster)
    return from;
  return std::lower_bound(from + 1, end, cluster,
                          [](const auto& part, uint64_t id) { return part.cluster < id; });
}

} // namespace

void Times::set(const Lanes& lanes) {
  Epoch least = lanes[0], most = lanes[0];
  for (const Epoch time : lanes) { // without a branch
    least = std::min(least, time);
    most = std::max(most, time);
  }
  all_ = least;
  if (least == most)
    lanes_ = nullptr;
  else if (lanes_)
    own(lanes_) = lanes;
  else
    lanes_ = std::make_shared<Lanes>(lanes);
}

void Times::advance(LaneMask lanes, Epoch epoch) {
  if (all_ >= epoch)
    return;
  if (lanes == kAllLanes && !lanes_) {
    all_ = epoch;
    return;
  }
  Lanes times;
  if (lanes_)
    times = *lanes_;
  else
    times.fill(all_);
  for (LaneMask left = lanes; left != 0; left &= left - 1) {
    Epoch& time = times[static_cast<size_t>(std::countr_zero(left))];
    time = std::max(time, epoch);
  }
  set(times);
}

bool Times::covers(LaneMask lanes, Epoch epoch) const {
  if (all_ >= epoch || !lanes_)
    return all_ >= epoch;
  for (LaneMask left = lanes; left != 0; left &= left - 1)
    if ((*lanes_)[static_cast<size_t>(std::countr_zero(left))] < epoch)
      return false;
  return true;
}

bool Times::covers(const Times& other) const {
  if (all_ < other.all_)
    return false;
  if (!other.lanes_ || lanes_ == other.lanes_)
    return true;
  bool all = true; // a plain loop, which takes a few vector instructions
  for (size_t lane = 0; lane < kWarpSize; ++lane)
    all &= (lanes_ ? (*lanes_)[lane] : all_) >= (*other.lanes_)[lane];
  return all;
}

void Times::join(const Times& other) {
  if (covers(other))
    return;
  if (other.covers(*this)) {
    *this = other;
    return;
  }
  Lanes times;
  for (int lane = 0; lane < kWarpSize; ++lane)
    times[static_cast<size_t>(lane)] = std::max(of(lane), other.of(lane));
  set(times);
}

void Clock::advance(uint64_t cluster, uint32_t agent, LaneMask lanes, Epoch epoch) {
  if (!parts_)
    parts_ = std::make_shared<Parts>();
  Parts& parts = own(parts_);
  auto at = std::lower_bound(parts.begin(), parts.end(), cluster, precedes);
  if (at == parts.end() || at->cluster != cluster)
    at = parts.insert(at, {cluster, std::make_shared<Agents>()});
  Agents& agents = own(at->agents);
  if (agents.size() <= agent)
    agents.resize(agent + 1);
  agents[agent].advance(lanes, epoch);
}

bool Clock::covers(const Parts& ours, const Parts& theirs) {
  if (ours.size() < theirs.size())
    return false;
  auto at = ours.begin();
  for (const Part& part : theirs) {
    at = seek(at, ours.end(), part.cluster);
    if (at == ours.end() || at->cluster != part.cluster || !covers_all_of(at->agents, part.agents))
      return false;
    ++at;
  }
  return true;
}

void Clock::join(const Clock& other) {
  if (!other.parts_ || parts_ == other.parts_)
    return;
  if (!parts_ || covers(*other.parts_, *parts_)) {
    parts_ = other.parts_;
    return;
  }
  if (covers(*parts_, *other.parts_))
    return;
  Parts& ours = own(parts_);
  Parts missing;
  auto at = ours.begin();
  for (const Part& theirs : *other.parts_) {
    at = seek(at, ours.end(), theirs.cluster);
    if (at == ours.end() || at->cluster != theirs.cluster)
      missing.push_back(theirs);
    else
      join_all(at->agents, theirs.agents);
  }
  const auto end_of_ours = ours.insert(ours.end(), missing.begin(), missing.end());
  std::inplace_merge(ours.begin(), end_of_ours, ours.end(),
                     [](const Part& a, const Part& b) { return a.cluster < b.cluster; });
}

bool Clock::shares_with(const Clock& other) const {
  if (parts_ == other.parts_ || !parts_ || !other.parts_)
    return parts_ == other.parts_;
  return std::equal(
      parts_->begin(), parts_->end(), other.parts_->begin(), other.parts_->end(),
      [](const Part& a, const Part& b) { return a.cluster == b.cluster && a.agents == b.agents; });
}

} // namespace lemma::check
