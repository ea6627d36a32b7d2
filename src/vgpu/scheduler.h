// Runs a launch: clusters of CTAs on all cores, as many resident as the modelled GPU would hold, preempted
// after a quantum.
//
// Tests: tests/unit/vgpu/scheduler_test.cc, tests/programs/grid_barrier.
#pragma once

#include "vgpu/launch.h"
#include "vgpu/program.h"

namespace lemma::vgpu {

// The GPU whose residency is modelled: an H200.
struct MachineLimits {
  uint32_t sm_count = 132;
  uint32_t threads_per_sm = 2048;
  uint32_t ctas_per_sm = 32;
  uint32_t shared_bytes_per_sm = 228 * 1024;
  uint32_t max_threads_per_cta = 1024;
  uint32_t max_cluster_ctas = 16;
  uint32_t max_shared_bytes_per_cta = 227 * 1024;
  Dim3 max_grid{2147483647u, 65535, 65535};
  Dim3 max_block{1024, 1024, 64};
};

// Checks the configuration against the kernel and the machine. Empty: it may be launched; else what is wrong.
std::string check_launch(const Program& program, const Code& entry, const LaunchConfig& config,
                         const MachineLimits& limits = {});

// Runs to the end, to the first fault, or to a deadlock. The configuration must have passed check_launch().
LaunchReport run_launch(const Program& program, const Code& entry, GlobalMemory& memory,
                        const LaunchConfig& config, const MachineLimits& limits = {});

} // namespace lemma::vgpu
