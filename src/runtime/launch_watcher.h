// The caller's observer of a launch (lemma/observer.h) as one of the virtual GPU's: the same events in public
// data.
//
// Tests: tests/unit/runtime/observer_test.cc.
#pragma once

#include "lemma/observer.h"
#include "runtime/instruction_numbers.h"
#include "runtime/source_lines.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/observer.h"

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

namespace lemma::runtime {

// For one launch.
class LaunchWatcher final : public vgpu::Observer {
public:
  // All of them outlive it.
  LaunchWatcher(LaunchObserver& observer, const vgpu::Program& program, std::string_view arithmetic);

  void launch_begins(const vgpu::Launch& launch) override;
  void launch_ends(const vgpu::Launch& launch) override;
  void cluster_begins(const vgpu::Cluster& cluster) override;
  void cluster_ends(const vgpu::Cluster& cluster) override;
  void exits(const vgpu::Exec& x, vgpu::LaneMask lanes) override;
  bool watches_instructions() const override { return watch_.instructions; }
  void executes(const vgpu::Exec& x, const vgpu::DecodedInst& in) override;
  void accesses(const vgpu::Exec& x, const vgpu::WarpAccess& access) override;
  void synchronizes(const vgpu::Exec& x, const vgpu::Synchronization& sync) override;
  void barrier_completes(const vgpu::Cta& cta, uint32_t id) override;
  void cluster_barrier_completes(const vgpu::Cluster& cluster) override;
  void issues(const vgpu::Exec& x, const vgpu::AsyncOperation& operation) override;
  void commits(const vgpu::Exec& x, vgpu::AsyncGroup group, vgpu::LaneMask lanes) override;
  void reads_source(const vgpu::AsyncOperation& operation) override;
  void completes(const vgpu::AsyncOperation& operation) override;
  void waits(const vgpu::Exec& x, const vgpu::GroupWait& wait) override;
  void arrives(const vgpu::MbarrierArrival& arrival) override;
  void finds_complete(const vgpu::Exec& x, const vgpu::MbarrierWait& wait) override;

private:
  class View final : public WatchedLaunch {
  public:
    View(const vgpu::Program& program, const InstructionNumbers& numbers);
    Place place(uint32_t instruction) const override;
    std::string form(uint32_t instruction) const override;

  private:
    const vgpu::Program& program_;
    const InstructionNumbers& numbers_;
    std::vector<WatchedFunction> functions_;
    mutable std::mutex mutex_; // of what follows
    mutable SourceLines sources_;
  };

  template <class F>
  void call(F&& f);
  uint32_t worker();
  WarpStep step(const vgpu::Cta& cta);
  WarpStep step(const vgpu::Exec& x, vgpu::LaneMask lanes);
  WarpStep step(const vgpu::AsyncOperation& operation);
  WatchedCta cta(const vgpu::Cta& cta);
  void operates(const vgpu::AsyncOperation& operation, OperationEvent event);

  LaunchObserver& observer_;
  const InstructionNumbers numbers_;
  View view_;
  Watch watch_;
  const uint64_t id_; // of this object, among all that there ever were
  std::atomic<uint32_t> workers_{0};
  std::atomic<bool> failed_{false}; // the observer has thrown
};

} // namespace lemma::runtime
