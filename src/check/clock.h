// Vector clocks: what precedes an operation, in the causality order of the PTX memory consistency model.
//
// What a clock counts in is an agent: a warp, whose 32 lanes have a time each; or the asynchronous operations
// of one kind that a warp, a warpgroup or an mbarrier answers for. Agents belong to a cluster and are
// numbered there. An agent's time is an epoch, which grows whenever it hands on what it knows: what it did in
// an epoch is known to all who know that epoch.
//
// Lanes run together and know the same most of the time, CTAs know nothing of each other: so a clock is a
// list of clusters, each an array by agent, and an agent's lanes have one time unless they were heard of one
// by one. A lock hands on what thousands of clusters did from each holder to the next: so clocks that know
// the same share lists and arrays, and a clock takes those of one that knows all that it does.
//
// Not here: who has which clock, and when they are joined (checker.h).
//
// PTX ISA: "Memory Consistency Model": "Causality Order". Tests: tests/unit/check/clock_test.cc.
#pragma once

#include "vgpu/code/code.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <vector>

namespace lemma::check {

using Epoch = uint32_t;
using vgpu::kAllLanes;
using vgpu::kWarpSize;
using vgpu::LaneMask;

// Up to which epoch an agent is known, lane by lane. An agent without lanes is all lanes at once.
class Times {
public:
  Epoch of(int lane) const { return lanes_ ? (*lanes_)[static_cast<size_t>(lane)] : all_; }
  // All lanes are known up to this.
  Epoch of_all() const { return all_; }
  // Any of them is known up to there.
  bool any(Epoch epoch) const {
    return all_ >= epoch || (lanes_ && *std::max_element(lanes_->begin(), lanes_->end()) >= epoch);
  }
  // No lane is known less far than that.
  bool covers(const Times& other) const;
  // These lanes are.
  bool covers(LaneMask lanes, Epoch epoch) const;
  void advance(LaneMask lanes, Epoch epoch);
  void join(const Times& other);

private:
  using Lanes = std::array<Epoch, kWarpSize>;
  void set(const Lanes& lanes);

  Epoch all_ = 0;                // the least of them
  std::shared_ptr<Lanes> lanes_; // not changed while others hold it; null: all the same
};

class Clock {
public:
  // What `lane` of the agent did in `epoch` precedes.
  bool covers(uint64_t cluster, uint32_t agent, int lane, Epoch epoch) const {
    const Times* times = find(cluster, agent);
    return times && times->of(lane) >= epoch;
  }
  // ... and so does what these lanes did; any other lane.
  bool covers_lanes(uint64_t cluster, uint32_t agent, LaneMask lanes, Epoch epoch) const {
    const Times* times = find(cluster, agent);
    return times && times->covers(lanes, epoch);
  }
  bool covers_all(uint64_t cluster, uint32_t agent, Epoch epoch) const {
    const Times* times = find(cluster, agent);
    return times && times->of_all() >= epoch;
  }
  // What some lane of the agent did in `epoch` precedes.
  bool covers_any(uint64_t cluster, uint32_t agent, Epoch epoch) const {
    const Times* times = find(cluster, agent);
    return times && times->any(epoch);
  }
  void advance(uint64_t cluster, uint32_t agent, LaneMask lanes, Epoch epoch);
  void join(const Clock& other);
  bool empty() const { return !parts_; }
  void clear() { parts_ = nullptr; }
  // They share what they know: equal, and found so in little time. False does not mean that they differ.
  bool shares_with(const Clock& other) const;

private:
  using Agents = std::vector<Times>;
  struct Part {
    uint64_t cluster = 0;
    std::shared_ptr<Agents> agents; // not changed while others hold it
  };
  using Parts = std::vector<Part>;

  static bool precedes(const Part& part, uint64_t cluster) { return part.cluster < cluster; }
  const Times* find(uint64_t cluster, uint32_t agent) const {
    if (!parts_)
      return nullptr;
    const auto at = std::lower_bound(parts_->begin(), parts_->end(), cluster, precedes);
    return at != parts_->end() && at->cluster == cluster && agent < at->agents->size() ? &(*at->agents)[agent]
                                                                                       : nullptr;
  }
  static bool covers(const Parts& ours, const Parts& theirs);

  std::shared_ptr<Parts> parts_; // by cluster; not changed while others hold it; null: none
};

} // namespace lemma::check
