// The GPU whose limits a launch has: what a CTA, a cluster and a grid may be, and how much is resident at
// once.
//
// Not here: its arithmetic (src/numeric) and its instructions (src/isa).
//
// CUDA C++ Programming Guide: "Compute Capabilities", table of technical specifications.
// Tests: tests/unit/vgpu/machine_test.cc.
#pragma once

#include "vgpu/launch.h"
#include "vgpu/program.h"

namespace lemma::vgpu {

// As made: an H200.
struct MachineLimits {
  uint32_t sm_count = 132;
  uint32_t threads_per_sm = 2048;
  uint32_t ctas_per_sm = 32;
  uint32_t shared_bytes_per_sm = 228 * 1024;
  uint32_t max_threads_per_cta = 1024;
  uint32_t max_cluster_ctas = 16; // 1: the machine has no clusters
  uint32_t max_shared_bytes_per_cta = 227 * 1024;
  Dim3 max_grid{2147483647u, 65535, 65535};
  Dim3 max_block{1024, 1024, 64};
};

// Of the largest GPU of that compute capability, or of the nearest one below it that is known.
MachineLimits limits_of(Arch arch);

} // namespace lemma::vgpu
