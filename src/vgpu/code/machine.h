// The GPU whose limits a launch has: what a CTA, a cluster and a grid may be, and how much is resident at
// once.
//
// Not here: what each machine has (isa/machines.def), its arithmetic (src/numeric) and its instructions
// (src/isa).
//
// CUDA C++ Programming Guide: "Compute Capabilities", table of technical specifications.
// Tests: tests/unit/vgpu/machine_test.cc.
#pragma once

#include "vgpu/code/program.h"
#include "vgpu/engine/launch.h"

namespace lemma::vgpu {

struct MachineLimits {
  uint32_t sm_count = 0;
  uint32_t threads_per_sm = 0;
  uint32_t ctas_per_sm = 0;
  uint32_t shared_bytes_per_sm = 0;
  uint32_t reserved_shared_bytes = 0; // of each CTA, for the system
  uint32_t shared_unit_bytes = 0;     // a CTA has a multiple of
  uint32_t max_shared_bytes_per_cta = 0;
  uint32_t max_cluster_ctas = 0; // 1: the machine has no clusters
  // Alike on every machine from sm_30 on.
  uint32_t max_threads_per_cta = 1024;
  Dim3 max_grid{2147483647u, 65535, 65535};
  Dim3 max_block{1024, 1024, 64};
};

// Of the GPU that the machine's row names; of one that is not modelled, the oldest's that is.
MachineLimits limits_of(Arch arch = {});

} // namespace lemma::vgpu
