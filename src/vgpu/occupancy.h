// How many CTAs an SM holds: for launches, which register no registers, and for lemma/occupancy.h.
//
// CUDA's cuda_occupancy.h. Tests: tests/unit/inspect/occupancy_test.cc, tests/unit/vgpu/machine_test.cc.
#pragma once

#include "lemma/occupancy.h"
#include "ptx/module.h"
#include "vgpu/machine.h"

namespace lemma::vgpu {

// Of at least one thread.
Occupancy occupancy_of(const MachineLimits& limits, const CtaDemand& cta);

// The registers a thread that a launch of a kernel with setmaxnreg gets: .maxnreg, and no more than leave
// room for .minnctapersm CTAs. 0: neither is given; then ptxas leaves setmaxnreg out. Measured on an H200
// (tests/golden/asked/setmaxnreg.csv).
uint32_t launch_registers(const MachineLimits& limits, const ptx::LaunchBounds& bounds);

// The most that each of so many CTAs on an SM can have of its shared memory, without the system's share.
uint64_t shared_bytes_of_each(const MachineLimits& limits, uint32_t ctas_per_sm);

} // namespace lemma::vgpu
