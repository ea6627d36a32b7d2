// The thread that finds nobody calling calls all that is waiting, what others add meanwhile too.
#include "vgpu/engine/callbacks.h"

#include <utility>

namespace lemma::vgpu {

namespace {
constexpr size_t kMostWaitingBytes = size_t{1} << 20;
}

void CallbackQueue::add(std::function<void()> callback) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({std::move(callback), 0});
}

void CallbackQueue::call(size_t bytes, std::function<void()> callback) {
  {
    std::unique_lock lock(mutex_);
    called_.wait(lock, [&] { return !calling_ || waiting_bytes_ <= kMostWaitingBytes; });
    waiting_.push_back({std::move(callback), bytes});
    waiting_bytes_ += bytes;
  }
  run();
}

void CallbackQueue::run() {
  std::unique_lock lock(mutex_);
  if (calling_)
    return; // that thread calls it
  calling_ = true;
  try {
    while (!waiting_.empty()) {
      const Entry entry = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      entry.callback();
      lock.lock();
      waiting_bytes_ -= entry.bytes;
      called_.notify_all();
    }
  } catch (...) {
    lock.lock();
    waiting_.clear();
    waiting_bytes_ = 0;
    calling_ = false;
    called_.notify_all();
    throw;
  }
  calling_ = false;
  called_.notify_all();
}

} // namespace lemma::vgpu
