// Exceptions as the errors that they are. Nothing throws in the way of things but allocations.
//
// Tests: tests/unit/runtime/threads_test.cc.
#pragma once

#include "runtime/device_impl.h"
#include "support/memory_budget.h"

#include <exception>
#include <new>

namespace lemma::runtime {

// What f() returns, a Result; an exception as its error.
template <class F>
auto guarded(F f) -> decltype(f()) {
  try {
    return f();
  } catch (const OverBudget& problem) {
    return failure(ErrorKind::out_of_memory, problem.what());
  } catch (const std::bad_alloc&) {
    return failure(ErrorKind::out_of_memory, "the host has no memory left");
  } catch (const std::exception& problem) {
    return failure(ErrorKind::internal, problem.what());
  }
}

} // namespace lemma::runtime
