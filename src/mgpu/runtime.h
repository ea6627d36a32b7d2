// How an entry point reaches its context, and what becomes of a failure. entry_points.cc is its user.
//
// Tests: tests/unit/mgpu/context_test.cc.
#pragma once

#include "mgpu/context.h"
#include "mgpu/failure.h"
#include "mgpu/state.h"

#include <functional>
#include <string>

namespace lemma::mgpu {

// One call of an entry point, in the context of its thread.
class Call {
public:
  explicit Call(const char* entry_point);

  // f(state) under the context's lock. False: it failed, and the context has the reason; or an earlier call
  // did, and f was not called.
  bool attempt(const std::function<OrFailure<void>(State&)>& f);

  void launched(const Launched& launch) const;

  // After a failure: does not return if the program is in Context::run(). Nothing with a destructor may be
  // alive in the frames of the entry point.
  static void leave();

private:
  void say(const std::string& text) const;

  Context::Impl* context_;
  const char* entry_point_;
};

// What a failure of an entry point says and is.
Stop stop_of(const char* entry_point, Failure failure);

// The context of threads that are bound to none; null: there is none. standalone.cc sets it.
extern Context* (*unbound_context)(const char* entry_point);

} // namespace lemma::mgpu
