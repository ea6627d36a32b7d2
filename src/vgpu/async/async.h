// When asynchronous operations run: copies and reductions that the memory system carries out beside the
// warps.
//
// An operation is checked when it is issued, so that a fault names the instruction, and then has two steps:
// its source is read, its destination written and its completion signalled (async_operation.h). When they run
// is the launch's AsyncMode:
//
//   eager  both at once, when the operation is issued
//   late   as late as the ISA allows: when the issuing thread waits for the operation's group, or, for one
//          that signals an mbarrier, when nothing else in the cluster can move. A program that forgets to
//          wait then sees what was there before. Shared memory is read when the cluster ends at the latest:
//          the ISA does not say that it is still there then, but kernels that every GPU runs end so
//          (DeepGEMM's).
//   random each step at a time that is drawn for it: at once, after so many instructions of the cluster, or
//          late
//
// What an operation writes counts as written once it completes.
//
// Groups are those of cp.async and cp.async.bulk: each thread has its own, of each kind.
//
// PTX ISA: "Asynchronous Operations", "Completion Mechanisms for Asynchronous Copy Operations", "Async
// proxy". Tests: tests/unit/vgpu/async_test.cc.
#pragma once

#include "lemma/launch.h"
#include "support/memory_budget.h"
#include "vgpu/async/async_operation.h"
#include "vgpu/engine/watch.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

namespace lemma::vgpu {

// A thread of a cluster.
struct ThreadId {
  uint32_t cta_rank = 0;
  uint32_t warp = 0;
  uint32_t lane = 0;
  friend auto operator<=>(const ThreadId&, const ThreadId&) = default;
};

// The operations of one cluster that are in flight.
class AsyncQueue {
public:
  // `budget`: what operations in flight draw on; it outlives them. Null: they are not counted. `watch`: who
  // is told what happens to operations.
  void reset(AsyncMode mode, uint64_t seed, MemoryBudget* budget = nullptr, Watch watch = {});

  const Watch& watch() const { return watch_; }
  // Numbers the operations of the cluster.
  uint64_t next_number() { return issued_++; }
  void start(const ThreadId& thread, AsyncOperation operation);
  // Closes the thread's group: what it started since the last one.
  void commit(const ThreadId& thread, AsyncGroup kind);
  // Completes the thread's groups but for the last `pending` ones. `read_only`: only their sources are taken.
  void wait(const ThreadId& thread, AsyncGroup kind, uint64_t pending, bool read_only = false);
  // Completes all that the thread has started, committed or not.
  void complete(const ThreadId& thread, AsyncGroup kind);

  // random: so many more instructions of the cluster have been executed; steps that are due run.
  void advance(uint64_t instructions) {
    now_ += instructions;
    if (now_ >= next_due_)
      run_due();
  }
  // Instructions until a step is due; many if none is.
  uint64_t until_due() const { return next_due_ - now_; }

  // Completes one operation that nobody waits for by a group; false if there is none. Its place in the order
  // of issue follows from the seed.
  bool run_one();
  // Reads all sources that are not read yet; `unwaited` is told first of those in a thread's group.
  void read_sources(const std::function<void(const AsyncOperation&)>& unwaited);
  // Completes everything, the thread groups too: the cluster ends.
  void drain();

  // One in flight; null: none is such.
  template <class F>
  const AsyncOperation* find(F&& is_such) const {
    const auto found = std::ranges::find_if(unordered_, is_such);
    if (found != unordered_.end())
      return &*found;
    for (const auto& [key, groups] : groups_) {
      for (const Group& group : groups.committed)
        for (const AsyncOperation& operation : group.operations)
          if (is_such(operation))
            return &operation;
      for (const AsyncOperation& operation : groups.open.operations)
        if (is_such(operation))
          return &operation;
    }
    return nullptr;
  }

  uint64_t completed() const { return completed_; }
  // Operations in flight that nobody waits for by a group.
  size_t waiting_count() const { return unordered_.size(); }

private:
  static constexpr uint64_t kNeverDue = UINT64_MAX;
  struct Group {
    std::vector<AsyncOperation> operations;
    MemoryShare taken = {}; // for a committed one
  };
  struct ThreadGroups {
    Group open;
    std::deque<Group> committed;
  };
  MemoryShare take(uint64_t bytes) const;
  void draw(AsyncOperation& operation);
  // The first of the operations in flight that run in an order and that this one is or comes after.
  size_t first_in_order(size_t index) const;
  // Runs the steps of an operation that are due.
  void run_steps(AsyncOperation& operation);
  void run_due();
  void read(AsyncOperation& operation);
  void finish(AsyncOperation& operation);
  void run_read(Group& group);
  void run(Group& group);

  MemoryBudget* budget_ = nullptr;
  AsyncMode mode_ = AsyncMode::eager;
  uint64_t seed_ = 0;
  uint64_t issued_ = 0;
  uint64_t completed_ = 0;
  // AsyncMode::random, in instructions of the cluster:
  uint64_t now_ = 0, next_due_ = kNeverDue;
  uint64_t draws_ = 0;
  Watch watch_;
  std::deque<AsyncOperation> unordered_;
  std::map<std::tuple<AsyncGroup, ThreadId>, ThreadGroups> groups_;
};

} // namespace lemma::vgpu
