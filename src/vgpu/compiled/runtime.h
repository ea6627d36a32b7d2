// What compiled code calls besides handlers.
//
// Tests: tests/unit/vgpu/compiled_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

namespace lemma::vgpu {

// The instruction's handler; WarpRunner::execute_with_care(). No exception comes through compiled code, which
// the host cannot unwind: it waits in CompiledState::problem, and the instruction has stopped the launch.
uint32_t call_handler(Exec& x, const DecodedInst& in);
// Where an observer follows values from this instruction on, the code is left.
template <bool is_watched>
uint32_t call_with_care(Exec& x, const DecodedInst& in);

// After a call or a return, of which the part knows nothing yet: the place of its split is taken, as
// WarpRunner::load() does. Where the code for that place goes on; null: the code has to return.
template <bool is_watched>
const void* follow(Exec& x);

// The loop's part in a backward jump to the pc (waiting.h): nonzero where the part waits from now on.
uint32_t notices_backward_jump(Exec& x, uint32_t pc);

// Compiled code returns with `step`, and parts wait in CompiledState: they become splits. What it returns
// with then.
uint32_t leave_parts(Exec& x, uint32_t step);

} // namespace lemma::vgpu
