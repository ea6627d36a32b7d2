// When asynchronous operations run, and how the async proxy sees shared memory. See async.h, launch.h.
#include "vgpu/async/async.h"

#include "vgpu/engine/launch.h"
#include "vgpu/engine/observer.h"
#include "vgpu/memory/mix.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace lemma::vgpu {

MemoryShare AsyncQueue::take(uint64_t bytes) const {
  MemoryShare share = budget_ ? MemoryShare(*budget_) : MemoryShare();
  share.take(bytes, "asynchronous operations in flight");
  return share;
}

void AsyncQueue::reset(AsyncMode mode, uint64_t seed, MemoryBudget* budget, Watch watch) {
  watch_ = watch;
  budget_ = budget;
  mode_ = mode;
  seed_ = seed;
  issued_ = completed_ = now_ = draws_ = 0;
  next_due_ = kNeverDue;
  unordered_.clear();
  groups_.clear();
}

void AsyncQueue::start(const ThreadId& thread, AsyncOperation operation) {
  if (mode_ == AsyncMode::eager) {
    finish(operation);
    return;
  }
  operation.taken = take(sizeof(AsyncOperation) + buffer_bytes(operation));
  if (mode_ == AsyncMode::random) {
    draw(operation);
    if (!operation.is_in_order())
      run_steps(operation);
    else if (operation.due == now_) // by run_due(), after those that it comes after
      next_due_ = now_;
    if (operation.state == AsyncState::done)
      return;
  }
  if (operation.group == AsyncGroup::none) {
    unordered_.push_back(std::move(operation));
  } else {
    groups_[{operation.group, thread}].open.operations.push_back(std::move(operation));
  }
}

// When the next step of an operation runs: of eight, two at once, two as late as may be, the others after up
// to 4096 instructions, every power of two as likely as any. In steps of 32, so that copies of a warp's lanes
// are looked at together.
void AsyncQueue::draw(AsyncOperation& operation) {
  const uint64_t random = mix(seed_ ^ mix(++draws_));
  const uint64_t kind = random % 8;
  const uint64_t most = uint64_t{1} << (random >> 8) % 13;
  constexpr uint64_t kStep = 32;
  const uint64_t after = now_ + 1 + (random >> 16) % most;
  operation.due = kind < 2 ? now_ : kind < 4 ? kNeverDue : (after + kStep - 1) / kStep * kStep;
  if (operation.due > now_)
    next_due_ = std::min(next_due_, operation.due);
}

void AsyncQueue::run_steps(AsyncOperation& operation) {
  if (operation.state == AsyncState::issued && operation.due <= now_) {
    read(operation);
    draw(operation);
  }
  if (operation.state == AsyncState::source_read && operation.due <= now_)
    finish(operation);
}

void AsyncQueue::run_due() {
  next_due_ = kNeverDue;
  const auto run = [&](AsyncOperation& operation) {
    run_steps(operation);
    if (operation.state != AsyncState::done)
      next_due_ = std::min(next_due_, operation.due);
  };
  // These first: one may complete groups (cp.async.mbarrier.arrive).
  for (size_t i = 0; i < unordered_.size(); ++i)
    if (unordered_[i].state != AsyncState::done && first_in_order(i) == i)
      run(unordered_[i]);
  std::erase_if(unordered_, [](const AsyncOperation& o) { return o.state == AsyncState::done; });
  for (auto& [key, groups] : groups_) {
    for (Group& group : groups.committed)
      for (AsyncOperation& operation : group.operations)
        run(operation);
    for (AsyncOperation& operation : groups.open.operations)
      run(operation);
  }
}

void AsyncQueue::commit(const ThreadId& thread, AsyncGroup kind) {
  if (mode_ == AsyncMode::eager)
    return;
  ThreadGroups& groups = groups_[{kind, thread}];
  groups.open.taken = take(sizeof(Group));
  groups.committed.push_back(std::exchange(groups.open, {}));
}

void AsyncQueue::wait(const ThreadId& thread, AsyncGroup kind, uint64_t pending, bool read_only) {
  const auto found = groups_.find({kind, thread});
  if (found == groups_.end())
    return;
  std::deque<Group>& committed = found->second.committed;
  if (read_only) {
    for (size_t i = 0; committed.size() - i > pending; ++i)
      run_read(committed[i]);
    return;
  }
  while (committed.size() > pending) {
    run(committed.front());
    committed.pop_front();
  }
}

void AsyncQueue::complete(const ThreadId& thread, AsyncGroup kind) {
  wait(thread, kind, 0);
  if (const auto found = groups_.find({kind, thread}); found != groups_.end()) {
    run(found->second.open);
    groups_.erase(found);
  }
}

size_t AsyncQueue::first_in_order(size_t index) const {
  const AsyncOperation& operation = unordered_[index];
  if (!operation.is_in_order())
    return index;
  const auto thread = [](const AsyncOperation& o) {
    return std::tuple(o.issuer.cta, o.issuer.warp, o.issuer.lane);
  };
  size_t first = 0;
  while (!unordered_[first].is_in_order() || unordered_[first].state == AsyncState::done ||
         thread(unordered_[first]) != thread(operation))
    ++first;
  return first;
}

bool AsyncQueue::run_one() {
  if (unordered_.empty())
    return false;
  const size_t pick = first_in_order(seed_ ? mix(seed_ + completed_) % unordered_.size() : 0);
  AsyncOperation operation = std::move(unordered_[pick]);
  unordered_.erase(unordered_.begin() + static_cast<ptrdiff_t>(pick));
  finish(operation);
  return true;
}

void AsyncQueue::read_sources(const std::function<void(const AsyncOperation&)>& unwaited) {
  for (AsyncOperation& operation : unordered_)
    read(operation);
  const auto read_group = [&](Group& group) {
    for (AsyncOperation& operation : group.operations) {
      if (operation.state == AsyncState::issued)
        unwaited(operation);
      read(operation);
    }
  };
  for (auto& [key, groups] : groups_) {
    for (Group& group : groups.committed)
      read_group(group);
    read_group(groups.open);
  }
}

void AsyncQueue::drain() {
  while (run_one()) {
  }
  for (auto& [key, groups] : groups_) {
    for (Group& group : groups.committed)
      run(group);
    run(groups.open);
  }
  groups_.clear();
}

void AsyncQueue::read(AsyncOperation& operation) {
  if (operation.state != AsyncState::issued)
    return;
  read_source(operation);
  operation.state = AsyncState::source_read;
  watch_.tell(&Observer::reads_source, operation);
}

void AsyncQueue::finish(AsyncOperation& operation) {
  if (operation.state == AsyncState::done)
    return;
  read(operation);
  lemma::vgpu::complete(operation);
  operation.state = AsyncState::done;
  ++completed_;
  watch_.tell(&Observer::completes, operation);
}

void AsyncQueue::run_read(Group& group) {
  for (AsyncOperation& operation : group.operations)
    read(operation);
}

void AsyncQueue::run(Group& group) {
  run_read(group);
  for (AsyncOperation& operation : group.operations)
    finish(operation);
  group = {};
}

void Cta::forget_written(uint64_t offset, uint64_t bytes) {
  std::memset(shared_written.data() + offset, 0, bytes);
  written_pages.forget(offset, bytes);
}

void Cta::async_write(uint32_t offset, const void* source, uint32_t bytes) {
  const auto write = [&](size_t count) {
    std::memcpy(shared.data() + offset, source, count);
    std::memset(shared_written.data() + offset, 1, count);
    if (async_view.empty())
      return;
    std::memcpy(async_view.data() + offset, source, count);
    std::memset(unpublished.data() + offset, 0, count);
  };
  constexpr size_t kSwizzled = 16; // bytes that stay together: of a known size they are moved in place
  bytes == kSwizzled ? write(kSwizzled) : write(bytes);
}

void Cta::publish_to_async_proxy(bool by_other_ctas) {
  if (async_view.empty())
    return;
  constexpr size_t kWord = 8; // most of the memory has no marks
  for (size_t i = 0; i < unpublished.size(); i += kWord) {
    const size_t bytes = std::min(kWord, unpublished.size() - i);
    uint64_t marks = 0;
    std::memcpy(&marks, unpublished.data() + i, bytes);
    if (!marks)
      continue;
    for (size_t j = i; j < i + bytes; ++j)
      if (by_other_ctas ? unpublished[j] == kByOtherCta : unpublished[j] != 0) {
        async_view[j] = shared[j];
        unpublished[j] = 0;
      }
  }
}

} // namespace lemma::vgpu
