// How a cluster begins: its place in the grid, its CTAs' shared memory and barriers, its warps at the
// kernel's entry. Not here: which cluster begins, and when (scheduler.cc).
//
// Tests: tests/unit/vgpu/scheduler_test.cc, unwritten_test.cc.
#pragma once

#include "vgpu/engine/launch.h"

namespace lemma::vgpu {

// Of so many.
inline uint64_t product(const Dim3& d) {
  return uint64_t{d[0]} * d[1] * d[2];
}

// The id of the first CTA of the cluster with that linear id.
Dim3 first_cta(const Launch& launch, uint64_t id);

// Makes `cluster`, a new one or one of the same use that has ended, the one with that linear id. Its clock
// and its operations are the caller's. For any thread. Throws OverBudget.
void start_cluster(const Launch& launch, Cluster& cluster, uint64_t id);

} // namespace lemma::vgpu
