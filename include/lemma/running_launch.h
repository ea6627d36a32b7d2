// What a launch is at that has not ended: DeviceOptions::on_running.
//
// Tests: tests/unit/runtime/running_launch_test.cc.
#pragma once

#include "lemma/report.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lemma {

struct RunningLaunch {
  uint64_t id = 0; // of the device's launches
  std::string kernel = {};
  bool has_ended = false; // the last that is said of it; nothing below holds
  double seconds = 0;     // since it began
  uint64_t warp_instructions = 0;
  uint64_t ctas = 0, ctas_done = 0;
  // Where its warps are, those with most of them first: the CTAs that have begun, but for what other threads
  // of the host execute at this moment.
  struct Warps {
    Place place = {};
    uint64_t count = 0; // diverged parts of a warp count each
  };
  std::vector<Warps> warps = {};
};

} // namespace lemma
