// How many CTAs an SM holds: for launches, which register no registers, and for lemma/occupancy.h.
//
// CUDA's cuda_occupancy.h. Tests: tests/unit/inspect/occupancy_test.cc, tests/unit/vgpu/machine_test.cc.
#pragma once

#include "lemma/occupancy.h"
#include "vgpu/machine.h"

namespace lemma::vgpu {

// Of at least one thread.
Occupancy occupancy_of(const MachineLimits& limits, const CtaDemand& cta);

// The most that each of so many CTAs on an SM can have of its shared memory, without the system's share.
uint64_t shared_bytes_of_each(const MachineLimits& limits, uint32_t ctas_per_sm);

} // namespace lemma::vgpu
