// tcgen05.alloc, dealloc and relinquish_alloc_permit.
//
// An alloc that finds no room waits for CTAs of the SM to give columns back; an exclusive one until nobody
// has any, and until it gives them back, by dealloc.exclusive, all others wait for it. Of a pair of CTAs each
// executes its own, and both get the same columns when the second comes, each of its SM.
//
// PTX ISA: "tcgen05.alloc", "tcgen05.dealloc", "tcgen05.relinquish_alloc_permit".
// Tests: tests/unit/vgpu/tensor_memory_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

namespace lemma::vgpu {

// The CTA's last lanes have exited: Step::stopped and a fault where it has not given back what it allocated.
Step end_tensor_memory(Exec& x, const DecodedInst& in);

} // namespace lemma::vgpu
