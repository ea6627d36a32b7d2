// Which registers hold a clock's value, or what was computed from one. A loop that polls with a time-out
// comes round in the same state but for these: they are left out of Code::loop_state.
//
// Values are followed through registers only. What depends on the clock by way of a predicate - a count of
// the times that a millisecond has passed - changes only now and then, and then the loop is in another state.
//
// Tests: tests/unit/vgpu/polling_test.cc.
#pragma once

#include "vgpu/code.h"

namespace lemma::vgpu {

// Sets Code::loop_state of decoded code.
void find_loop_state(Code& code);

} // namespace lemma::vgpu
