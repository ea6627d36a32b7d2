// A caller's lemma_observer as an observer of C++.
//
// Tests: tests/unit/capi/observer_test.cc.
#pragma once

#include "lemma/c/observer.h"
#include "lemma/observer.h"

#include <memory>

namespace lemma::capi {

// Null for null.
std::unique_ptr<LaunchObserver> observer_of(const lemma_observer* given);

} // namespace lemma::capi
