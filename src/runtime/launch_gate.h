// Who may touch a device's memory when: one launch at a time runs, and whoever copies or frees waits for its
// end, as the synchronous functions of the CUDA driver do.
//
// Callbacks of a launch (device printf, progress) cannot wait for it, and cannot launch. Else they are let in
// only if no launch of the device runs, and what they free goes once the launch has ended.
//
// Tests: tests/unit/runtime/threads_test.cc.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

namespace lemma::runtime {

class LaunchGate {
public:
  // The right to launch, or to change what a launch looks at. False: it was not given.
  class Pass {
  public:
    Pass() = default;
    Pass(Pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Pass& operator=(Pass&&) = delete;
    ~Pass() {
      if (gate_)
        gate_->leave();
    }
    explicit operator bool() const { return gate_ != nullptr; }

  private:
    friend class LaunchGate;
    explicit Pass(LaunchGate* gate) : gate_(gate) {}
    LaunchGate* gate_ = nullptr;
  };

  // Waits until the gate is free. In a callback it does not wait.
  Pass enter();
  // Runs the task while no launch runs: waits, or in a callback leaves it to whoever has the gate.
  void when_free(std::function<void()> task);

  // This thread is in a callback of a launch, of any device, for as long as this lives.
  class InCallback {
  public:
    InCallback() { in_callback_ = true; }
    InCallback(const InCallback&) = delete;
    ~InCallback() { in_callback_ = false; }
  };
  static bool in_callback() { return in_callback_; }

private:
  void leave();

  static thread_local bool in_callback_;
  std::mutex mutex_; // of what follows, held for moments only
  std::condition_variable changed_;
  bool taken_ = false;
  std::vector<std::function<void()>> tasks_; // for leave()
};

} // namespace lemma::runtime
