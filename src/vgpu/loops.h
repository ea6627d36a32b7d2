// What a loop can change of its function's frame: whether one that polls has come round in the same state is
// asked of this alone, since the frame of a large kernel takes longer to look at than the loop to go round.
//
// Tests: tests/unit/vgpu/loops_test.cc, polling_test.cc.
#pragma once

#include "vgpu/code.h"

namespace lemma::vgpu {

// Sets Code::loops of decoded code, whose Code::loop_state is known.
void find_loops(Code& code);

// The outermost loop around a pc; null: there is none, or it is not known what it changes.
const Code::Loop* loop_around(const Code& code, uint32_t pc);

} // namespace lemma::vgpu
