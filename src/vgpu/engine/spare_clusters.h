// Clusters that have ended, kept for the next launch of the same kernel in the same configuration: their
// shared memory, frames and local memory are mapped already, which asking the host anew for each launch is
// not. What they hold is set again when they start (cluster_start.h), whoever had them before.
//
// A device keeps what a launch of large CTAs on all of a GPU's SMs has, a sixteenth of its memory at most;
// its budget does not count that while nobody uses it.
//
// Tests: tests/unit/vgpu/spare_clusters_test.cc.
#pragma once

#include "support/memory_budget.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

namespace lemma::vgpu {

struct Cluster;
struct Code;
class Program;

// Thread-safe.
class SpareClusters {
public:
  static constexpr uint64_t kMostBytes = uint64_t{512} << 20;
  static constexpr uint64_t kFewBytes = uint64_t{64} << 20; // in any case

  // What they were used for: clusters of one use are as good as each other.
  struct Use {
    const Program* program = nullptr;
    const Code* entry = nullptr;
    uint32_t shared_bytes = 0; // of a CTA
    uint32_t threads = 0;      // of a CTA
    uint64_t ctas = 0;
    friend bool operator==(const Use&, const Use&) = default;
  };

  // `limit_bytes`: what the device may take of the host's memory.
  explicit SpareClusters(uint64_t limit_bytes = UINT64_MAX);
  ~SpareClusters();
  // One of that use; null: there is none. The budget counts it from then on; throws OverBudget.
  std::unique_ptr<Cluster> take(const Use& use);
  // Keeps clusters that have ended, as far as there is room: the oldest make it.
  void keep(const Use& use, std::vector<std::unique_ptr<Cluster>> clusters);
  // The program goes, and with it the code that frames belong to.
  void forget(const Program& program);

private:
  struct Spare;
  std::mutex mutex_; // of what follows
  std::deque<Spare> spares_;
  uint64_t bytes_ = 0;
  const uint64_t most_bytes_;
};

} // namespace lemma::vgpu
