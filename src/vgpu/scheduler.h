// Runs a launch: clusters of CTAs on all cores, as many resident as the modelled GPU would hold, preempted
// after a quantum.
//
// Tests: tests/unit/vgpu/scheduler_test.cc, tests/programs/grid_barrier.
#pragma once

#include "vgpu/launch.h"
#include "vgpu/machine.h"
#include "vgpu/program.h"

namespace lemma::vgpu {

// Checks the configuration, and how many bytes of parameters there are, against the kernel and the machine.
// Empty: it may be launched; else what is wrong.
std::string check_launch(const Program& program, const Code& entry, const LaunchConfig& config,
                         size_t param_bytes, const MachineLimits& limits = limits_of());

// Runs to the end, to the first fault, to a deadlock, or until LaunchConfig::stop is set. The configuration
// must have passed check_launch(); `params` are laid out by ptx::lay_out_parameters(). The report lacks what
// the device and the module say (Report::arithmetic, device, rendered, forms). Observers are told what
// happens (observer.h), each before those after it: `observers` of the clusters that LaunchConfig::check_ctas
// lets be followed, `observers_of_all` of every one.
Report run_launch(const Program& program, const Code& entry, GlobalMemory& memory, const LaunchConfig& config,
                  std::vector<std::byte> params, const MachineLimits& limits = limits_of(),
                  std::vector<Observer*> observers = {}, std::vector<Observer*> observers_of_all = {});

} // namespace lemma::vgpu
