// ld and st: the plain handlers, which take every case there is, lane by lane, and those of the host's level,
// which take accesses of which all is well and leave the others to the plain ones.
//
// Tests: tests/unit/vgpu/memory_ops_test.cc, memory_vectors_test.cc, copies_test.cc.
#pragma once

#include "lowered/program.h"
#include "vgpu/engine/exec.h"

#include <span>

namespace lemma::vgpu {

// DecodedInst::flags of ld and st: the state space, whether the access orders others, and whether elements
// are extended by their sign. Where rows_are_warps(): have all lanes one address, or are those of neighbours
// an element apart, if that is so of the first and the last one (lane_steps.h)?
inline constexpr uint8_t kSpaceMask = 0x0f;
inline constexpr uint8_t kOrdered = 0x10;
inline constexpr uint8_t kSigned = 0x20;
inline constexpr uint8_t kOneAddress = 0x40;
inline constexpr uint8_t kSideBySide = 0x80;

inline isa::StateSpace space_of(const DecodedInst& in) {
  return static_cast<isa::StateSpace>(in.flags & kSpaceMask);
}

// Elements of type M in memory; signed ones are extended by their sign.
template <class M>
Step load(Exec& x, const DecodedInst& in); // memory.cc
template <class M>
Step store(Exec& x, const DecodedInst& in);

class Decoder;

// st, and st.async of what nobody waits for.
bool select_store(Decoder& decoder, const ptx::Instruction& instruction, DecodedInst& in);

// For tests: what is decoded from now on has the plain handlers, or those of the host's level again.
void take_plain_memory_handlers(bool plain);
bool takes_plain_memory_handlers();

// What the instruction accesses; its operands, flags and width are set. Null: the plain handler it is.
Handler vector_load(isa::Type type, const Code& code, const DecodedInst& in);
Handler vector_store(isa::Type type, const Code& code, const DecodedInst& in);

// A load from global memory and the store after it, to shared memory, of what was loaded and nobody else
// reads (lowered/copies.h): at once, where nobody watches and both are usual. In decoded code.
void make_copies(Code& code, const lowered::Function& lowered);

} // namespace lemma::vgpu
