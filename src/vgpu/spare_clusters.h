// Clusters that have ended, kept for the next launch of the same kernel in the same configuration: their
// shared memory, frames and local memory are mapped already, which asking the host anew for each launch is
// not. What they hold is set again when they start (cluster_start.h), whoever had them before.
//
// A device keeps a few: kMostBytes in all, which its budget does not count while nobody uses them.
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
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  // What they were used for: clusters of one use are as good as each other.
  struct Use {
    const Program* program = nullptr;
    const Code* entry = nullptr;
    uint32_t shared_bytes = 0; // of a CTA
    uint32_t threads = 0;      // of a CTA
    uint64_t ctas = 0;
    friend bool operator==(const Use&, const Use&) = default;
  };

  SpareClusters();
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
};

} // namespace lemma::vgpu
