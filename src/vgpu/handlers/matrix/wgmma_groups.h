// What the warps of a warpgroup do together and when an operation's results become theirs: wgmma.fence,
// commit_group and wait_group, and what wgmma.mma_async has in common with them. See vgpu/async/wgmma.h.
//
// Not here: what an operation is and computes (wgmma.cc).
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions". Tests: tests/unit/vgpu/wgmma_test.cc,
// wgmma_group_test.cc.
#pragma once

#include "vgpu/engine/exec.h"

#include <span>

namespace lemma::vgpu {

// Operations after which the warps of a group meet, committed or not, and by which late ones complete,
// waited for or not: so many are in flight at most twice.
inline constexpr uint64_t kWgmmaRun = 128;

// True when the warp is whole and part of a whole warpgroup; else the handler returns `step`.
bool whole_warpgroup(Exec& x, const DecodedInst& in, Step& step);

// The running warp's group, which is whole, and its place in it.
Warpgroup& warpgroup_of(Exec& x);
uint32_t place_in_group(const Exec& x);

// Waits for the other warps of the group to come to where this one is; AsyncMode::eager: the last one
// executes what they have issued. Returns what the handler returns: Step::next for the last one, a fault if
// one of them has come with other operations behind it.
Step meet(Exec& x, const DecodedInst& in);

// The running function's registers as they were at the last wgmma.fence; poison if there was none.
std::shared_ptr<WgmmaView> view_of_frame(Exec& x);

// The running warp is about to issue an operation, which works on this view of the running function: what
// plain moves have written since the fence to its registers goes there (WgmmaState::moved).
void take_moves(Exec& x, const DecodedInst& mma, WgmmaView& view);

// Completes, for the running warp, operations of lower numbers than `end`, which all four warps have issued.
// False after a fault.
bool complete_operations(Exec& x, const DecodedInst& in, uint64_t end);

// AsyncMode::late and random: before an instruction that is no operation executes. Where it reads
// accumulators in flight, completes what writes them; what it writes of others is kept. False after a fault.
bool wait_for_registers(Exec& x, const DecodedInst& in);

// Is one of these registers of the running function an accumulator in flight, of an operation whose number is
// below `end`?
bool are_in_flight(Exec& x, std::span<const Slot> registers, uint64_t end);

Step run_wgmma_fence(Exec& x, const DecodedInst& in);
Step run_wgmma_commit(Exec& x, const DecodedInst& in);
Step run_wgmma_wait(Exec& x, const DecodedInst& in);

// The instruction of an operation.
inline const DecodedInst& decoded(const WgmmaOperation& operation) {
  return operation.code->at(operation.instruction);
}

// Takes A of an operation that has it in registers from those of one of the warps. In wgmma.cc.
void take_a(const Exec& x, WgmmaOperation& operation, uint32_t warp, std::byte* registers);
// Its registers of A; none where A comes from shared memory. In wgmma.cc.
std::span<const Slot> registers_of_a(const WgmmaOperation& operation);
// Of the operations from `first` on, below `end`, how many are one product: they have the same accumulators.
// At least one. In wgmma.cc.
uint64_t chain_from(Warpgroup& group, uint64_t first, uint64_t end);
// Computes so many, which all four warps have issued. `x`: of any of them. In wgmma.cc.
void execute_chain(Exec& x, Warpgroup& group, uint64_t first, uint64_t length);
// Those of the warpgroup with numbers below `end` that have not been executed. All four warps have issued
// them.
void execute_operations(Exec& x, uint64_t end);

} // namespace lemma::vgpu
