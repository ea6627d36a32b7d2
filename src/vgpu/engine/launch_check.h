// What a launch may be: its configuration beside the kernel's declarations and the machine's limits.
//
// Tests: tests/unit/vgpu/scheduler_test.cc, cluster_test.cc.
#pragma once

#include "vgpu/code/machine.h"
#include "vgpu/code/program.h"
#include "vgpu/engine/launch.h"

#include <cstddef>
#include <cstdint>
#include <string>

namespace lemma::vgpu {

// Checks the configuration, and how many bytes of parameters there are, against the kernel and the machine.
// Empty: it may be launched; else what is wrong.
std::string check_launch(const Program& program, const Code& entry, const LaunchConfig& config,
                         size_t param_bytes, const MachineLimits& limits = limits_of());

bool names_cluster(const LaunchConfig& config);

// A cluster that nobody names is one CTA, and a grid that counts clusters counts CTAs.
LaunchConfig settled(LaunchConfig config, const Code& entry);

// Static and dynamic ones of a CTA, with those that are the system's.
uint64_t shared_bytes_of(const Program& program, const Code& entry, const LaunchConfig& config);

// How many CTAs the machine holds at a time. `shared_bytes`: with those that are the system's here, whether
// they are the machine's too or not.
uint64_t resident_ctas(const MachineLimits& limits, uint64_t threads, uint64_t shared_bytes);

} // namespace lemma::vgpu
