// Runs a launch: clusters of CTAs on all cores, as many resident as the modelled GPU would hold, preempted
// after a quantum.
//
// Tests: tests/unit/vgpu/scheduler_test.cc, tests/programs/grid_barrier.
#pragma once

#include "vgpu/launch.h"
#include "vgpu/machine.h"
#include "vgpu/program.h"

#include <atomic>

namespace lemma::vgpu {

// Checks the configuration against the kernel and the machine. Empty: it may be launched; else what is wrong.
std::string check_launch(const Program& program, const Code& entry, const LaunchConfig& config,
                         const MachineLimits& limits = limits_of());

// How the caller of a launch ends it.
struct Stop {
  const std::atomic<bool>* request = nullptr; // set at any time; null: never
  // Whether it did: the report has no fault, but its message, and `waiting` says where all warps were.
  bool stopped = false;
};

// Runs to the end, to the first fault, or to a deadlock. The configuration must have passed check_launch().
LaunchReport run_launch(const Program& program, const Code& entry, GlobalMemory& memory,
                        const LaunchConfig& config, const MachineLimits& limits = limits_of(),
                        Stop* stop = nullptr);

} // namespace lemma::vgpu
