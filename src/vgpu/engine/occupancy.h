// How many CTAs an SM holds: for launches, which register no registers, and for lemma/occupancy.h.
//
// CUDA's cuda_occupancy.h. Tests: tests/unit/inspect/occupancy_test.cc, tests/unit/vgpu/machine_test.cc.
#pragma once

#include "lemma/occupancy.h"
#include "ptx/module.h"
#include "vgpu/code/machine.h"

namespace lemma::vgpu {

// Of at least one thread.
Occupancy occupancy_of(const MachineLimits& limits, const CtaDemand& cta);

// The registers a thread that a launch of a kernel with setmaxnreg gets: .maxnreg, no more than leave room
// for .minnctapersm CTAs, and no more than its largest setmaxnreg.inc asks for (`wanted`; 0: it has none). 0:
// neither bound is given; then ptxas leaves setmaxnreg out. Asked of ptxas
// (tests/golden/asked/launch_registers.csv), and measured on an H200 (setmaxnreg.csv there).
uint32_t launch_registers(const MachineLimits& limits, const ptx::LaunchBounds& bounds, uint32_t wanted);

// The most that each of so many CTAs on an SM can have of its shared memory, without the system's share.
uint64_t shared_bytes_of_each(const MachineLimits& limits, uint32_t ctas_per_sm);

} // namespace lemma::vgpu
