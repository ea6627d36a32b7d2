// What a loop can change of its function's frame: whether one that polls has come round in the same state is
// asked of this alone, since the frame of a large kernel takes longer to look at than the loop to go round.
//
// Tests: tests/unit/vgpu/loops_test.cc, polling_test.cc.
#pragma once

#include "lowered/program.h"
#include "vgpu/code/code.h"

#include <span>

namespace lemma::vgpu {

// Sets Code::loop_state and Code::loops of decoded code. `slots`: where the registers of `lowered` lie.
void place_loops(Code& code, const lowered::Function& lowered, std::span<const Slot> slots);

// Sets what each of Code::loops can change, of Code::loop_state.
void find_changes(Code& code);

// The outermost loop around a pc; null: there is none, or it is not known what it changes.
const Code::Loop* loop_around(const Code& code, uint32_t pc);

} // namespace lemma::vgpu
