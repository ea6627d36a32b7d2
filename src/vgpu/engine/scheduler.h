// Runs a launch: clusters of CTAs on all cores, as many resident as the modelled GPU would hold, preempted
// after a quantum. Several launches may run on one memory at the same time.
//
// Tests: tests/unit/vgpu/scheduler_test.cc, tests/programs/grid_barrier.
#pragma once

#include "lemma/launch.h"
#include "lemma/report.h"
#include "lemma/running_launch.h"
#include "vgpu/code/machine.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace lemma::vgpu {

struct Code;
class GlobalMemory;
class Observer;
class Program;

// What a launch runs in: the machine, who watches, and what goes on around it.
struct LaunchSurroundings {
  MachineLimits limits = limits_of();
  // They are told what happens (observer.h), each before those after it: `observers` of the clusters that
  // LaunchConfig::check_ctas lets be followed, `observers_of_all` of every one.
  std::vector<Observer*> observers = {};
  std::vector<Observer*> observers_of_all = {};

  // Whether anyone, the host or another kernel, may yet do what the kernel waits for; null: nobody. A launch
  // in which nothing can move is a deadlock when that is false, or nobody has done anything
  // (GlobalMemory::activity()) for `patience`.
  std::function<bool()> others_may_act = {};
  std::chrono::nanoseconds patience{0};

  // Programmatic dependent launch. What griddepcontrol.wait waits for: all that the grids before this one
  // have done is there. Null: it is.
  const std::atomic<bool>* prerequisites_done = nullptr;
  // Called once, when every CTA has executed griddepcontrol.launch_dependents or ended; null: nobody wants
  // that.
  std::function<void()> dependents_may_start = {};

  // Called a few times a second with what the launch is at, but for its id; null: nobody asks.
  std::function<void(RunningLaunch)> on_running = {};
};

// Runs to the end, to the first fault, to a deadlock, or until LaunchConfig::stop is set. The configuration
// must have passed check_launch() (launch_check.h); `params` are laid out by ptx::lay_out_parameters(). The
// report lacks what the device and the module say (Report::arithmetic, device, rendered, forms).
Report run_launch(const Program& program, const Code& entry, GlobalMemory& memory, const LaunchConfig& config,
                  std::vector<std::byte> params, LaunchSurroundings surroundings = {});

} // namespace lemma::vgpu
