// The process's one runtime: the state behind a lock, and what becomes of a failure. entry_points.cc is its
// user.
//
// Tests: tests/unit/mgpu/context_test.cc.
#pragma once

#include "mgpu/context.h"
#include "mgpu/failure.h"
#include "mgpu/state.h"

#include <memory>
#include <mutex>
#include <optional>

namespace lemma::mgpu {

class Runtime {
public:
  // Never destroyed: a program's own destructors unload its modules after everything else.
  static Runtime& instance();

  void configure(Options options, Hooks hooks);
  void finish();

  // f(state) under the lock. A failure ends the process.
  template <class F>
  auto call(const char* entry_point, F f);

  // Whether a program has called anything since the last configure() or finish().
  bool started() {
    const std::scoped_lock lock(mutex_);
    return state_ != nullptr;
  }

  void launched(const Launched& launch) const {
    if (hooks_.launched)
      hooks_.launched(launch.kernel, launch.report);
  }

private:
  OrFailure<State*> state(); // under mutex_
  void say(const std::string& text) const;
  [[noreturn]] void stop(const char* entry_point, Failure failure);

  std::mutex mutex_;
  std::optional<Options> options_;
  Hooks hooks_;
  std::unique_ptr<State> state_;

  std::recursive_mutex stop_mutex_; // taken by the thread that ends the process, for good
  std::optional<int> exit_status_;
};

template <class F>
auto Runtime::call(const char* entry_point, F f) {
  std::unique_lock lock(mutex_);
  const OrFailure<State*> state = this->state();
  if (!state) {
    lock.unlock();
    stop(entry_point, state.error());
  }
  auto result = f(**state);
  const std::string said = std::exchange((*state)->said, {});
  lock.unlock(); // hooks, and what the process does at its end, may call entry points
  say(said);
  if (!result)
    stop(entry_point, std::move(result).error());
  if constexpr (requires { *result; })
    return *std::move(result);
}

} // namespace lemma::mgpu
