// Oldest first; a cluster's shares of the budget are given back when it comes and taken again when it goes.
// See spare_clusters.h.
#include "vgpu/engine/spare_clusters.h"

#include "vgpu/engine/launch.h"

#include <algorithm>

namespace lemma::vgpu {
namespace {

// Calls f for what the cluster has taken of the budget, always in one order.
template <class F>
void for_shares(Cluster& cluster, F f) {
  for (const auto& cta : cluster.ctas) {
    f(cta->taken);
    for (Warp& warp : cta->warps)
      f(warp.taken);
  }
}

} // namespace

struct SpareClusters::Spare {
  Use use;
  std::unique_ptr<Cluster> cluster;
  std::vector<uint64_t> shares = {}; // of the budget, before it came
  uint64_t bytes = 0;                // their sum
};

SpareClusters::SpareClusters(uint64_t limit_bytes)
    : most_bytes_(std::clamp(limit_bytes / 16, kFewBytes, kMostBytes)) {}
SpareClusters::~SpareClusters() = default;

std::unique_ptr<Cluster> SpareClusters::take(const Use& use) {
  Spare found;
  {
    const std::lock_guard lock(mutex_);
    const auto last =
        std::find_if(spares_.rbegin(), spares_.rend(), [&](const Spare& spare) { return spare.use == use; });
    if (last == spares_.rend())
      return nullptr;
    found = std::move(*last);
    spares_.erase(std::next(last).base());
    bytes_ -= found.bytes;
  }
  size_t i = 0;
  for_shares(*found.cluster, [&](MemoryShare& share) { share.take(found.shares[i++], "shared memory"); });
  return std::move(found.cluster);
}

void SpareClusters::keep(const Use& use, std::vector<std::unique_ptr<Cluster>> clusters) {
  std::vector<Spare> gone; // without the lock
  for (auto& cluster : clusters) {
    Spare spare{.use = use, .cluster = std::move(cluster)};
    for_shares(*spare.cluster, [&](MemoryShare& share) {
      spare.shares.push_back(share.bytes());
      spare.bytes += share.bytes();
      share.give_back(share.bytes());
    });
    if (spare.bytes > most_bytes_)
      continue;
    const std::lock_guard lock(mutex_);
    while (bytes_ + spare.bytes > most_bytes_) {
      bytes_ -= spares_.front().bytes;
      gone.push_back(std::move(spares_.front()));
      spares_.pop_front();
    }
    bytes_ += spare.bytes;
    spares_.push_back(std::move(spare));
  }
}

void SpareClusters::forget(const Program& program) {
  const std::lock_guard lock(mutex_);
  std::erase_if(spares_, [&](const Spare& spare) {
    if (spare.use.program != &program)
      return false;
    bytes_ -= spare.bytes;
    return true;
  });
}

} // namespace lemma::vgpu
