// How code of the caller's is called during a launch: it knows that it is in a callback (timeline.h), and
// what it throws becomes the message of a fault.
//
// Tests: tests/unit/runtime/threads_test.cc, observer_test.cc.
#pragma once

#include "runtime/timeline.h"

#include <fmt/format.h>

#include <exception>
#include <stdexcept>

namespace lemma::runtime {

// `name`: "print function".
template <class F>
void call_callers(const char* name, F&& f) {
  const Timeline::InCallback mark;
  try {
    f();
  } catch (const std::exception& problem) {
    throw std::runtime_error(fmt::format("the caller's {} threw: {}", name, problem.what()));
  } catch (...) {
    throw std::runtime_error(fmt::format("the caller's {} threw", name));
  }
}

} // namespace lemma::runtime
