// What a Step is behind its handle.
//
// Tests: tests/unit/timing/.
#pragma once

#include "lemma/timing.h"
#include "runtime/device_impl.h"

#include <functional>
#include <memory>
#include <string>

namespace lemma::timing {

struct StepImpl {
  std::string name;
  std::shared_ptr<runtime::DeviceImpl> device;
  // Gives it to the device's legacy default stream, whose context is current, and does not wait. "cuda".
  std::function<Result<void, Error>()> start;
  // Runs it to its end, and says how many seconds that took. "cpu".
  std::function<Result<double, Error>()> run;
};

} // namespace lemma::timing
