// Calls what the caller of a launch gave it (LaunchConfig::print, progress): one call at a time, in order,
// and with no lock held, so that a callback may do what it likes and only its own thread waits for it.
//
// Tests: tests/unit/vgpu/callbacks_test.cc, tests/unit/runtime/threads_test.cc.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>

namespace lemma::vgpu {

class CallbackQueue {
public:
  // Calls are made by the first thread that comes to run(), for the others too. What they throw comes out
  // there; the calls that were waiting are dropped then.
  void add(std::function<void()> callback);
  void run();

  // add() and run(). Where calls that hold more than a mebibyte are waiting, waits until they were made.
  void call(size_t bytes, std::function<void()> callback);

private:
  struct Entry {
    std::function<void()> callback;
    size_t bytes = 0;
  };

  std::mutex mutex_; // of what follows; not held during a call
  std::condition_variable called_;
  std::deque<Entry> waiting_;
  size_t waiting_bytes_ = 0;
  bool calling_ = false; // some thread is in run()
};

} // namespace lemma::vgpu
