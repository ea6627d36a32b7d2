// One flag under a mutex. `in_callback_` belongs to the thread: it is how a launch's own callback is told
// from a stranger, who waits. Tasks that it leaves run when the gate opens, with the lock released, since
// they may leave more.
#include "runtime/launch_gate.h"

namespace lemma::runtime {

thread_local bool LaunchGate::in_callback_ = false;

LaunchGate::Pass LaunchGate::enter() {
  std::unique_lock lock(mutex_);
  if (taken_ && in_callback_)
    return {};
  changed_.wait(lock, [this] { return !taken_; });
  taken_ = true;
  return Pass(this);
}

void LaunchGate::when_free(std::function<void()> task) {
  std::unique_lock lock(mutex_);
  if (taken_ && in_callback_) {
    tasks_.push_back(std::move(task));
    return;
  }
  changed_.wait(lock, [this] { return !taken_; });
  taken_ = true;
  lock.unlock();
  const Pass pass(this);
  task();
}

void LaunchGate::leave() {
  std::unique_lock lock(mutex_);
  while (!tasks_.empty()) { // a task may add one
    const std::vector<std::function<void()>> tasks = std::exchange(tasks_, {});
    lock.unlock();
    for (const std::function<void()>& task : tasks)
      task();
    lock.lock();
  }
  taken_ = false;
  changed_.notify_one();
}

} // namespace lemma::runtime
