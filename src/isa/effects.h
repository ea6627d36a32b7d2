// What executing an instruction does, beside what its form says of its operands: a row for each opcode, which
// stands in the OPCODE line of its forms (forms/README.md). Who wants to know whether an instruction may be
// moved, left out, or divides a warp asks here, and has no list of opcodes.
//
// Facts are those of the PTX ISA, of the opcode with any qualifiers; a special register among the operands
// adds what extent_of() says, a callee whatever it does. A fact that holds for some forms only is stated:
// `reads` says that the instruction may read.
//
// Tests: tests/unit/isa/effects_test.cc; against execution: tests/golden/effects_test.cc.
#pragma once

#include "isa/vocabulary.h"

namespace lemma::isa {

// PTX ISA, "Memory Consistency Model": "Operation types", "Scope".
enum class Semantics : uint8_t { weak, relaxed, acquire, release, acq_rel, sc, volatile_, mmio };
enum class MemoryScope : uint8_t { none, cta, cluster, gpu, sys };

class Effects {
public:
  constexpr Effects() = default;
  constexpr explicit Effects(uint64_t facts) : facts_(facts) {}

  constexpr bool has(Effects other) const { return (facts_ & other.facts_) == other.facts_; }
  constexpr bool has_any(Effects other) const { return (facts_ & other.facts_) != 0; }
  constexpr bool is_stated() const { return facts_ != 0; }
  // The order of its memory operation, where no qualifier says otherwise.
  constexpr Semantics semantics() const { return static_cast<Semantics>(facts_ >> kSemantics & 15); }
  constexpr MemoryScope scope() const { return static_cast<MemoryScope>(facts_ >> kScope & 15); }

  friend constexpr Effects operator|(Effects a, Effects b) { return Effects(a.facts_ | b.facts_); }
  friend constexpr bool operator==(Effects, Effects) = default;

  static constexpr int kSemantics = 56, kScope = 60; // bits where they lie

private:
  uint64_t facts_ = 0;
};

// The words of the rows.
namespace effect {

constexpr Effects fact(int bit) {
  return Effects(uint64_t{1} << bit);
}

// None of what follows.
inline constexpr Effects nothing = fact(0);
// All that it does is in its destinations, lane by lane, and follows from its sources alone, and from the
// carry.
inline constexpr Effects pure = fact(1);
inline constexpr Effects carry = fact(2);  // the carry is a source, whether .cc or not
inline constexpr Effects varies = fact(3); // what it gives differs among threads, whatever it is given

// Memory, in the spaces of its address operands; with `shared_operands` also what descriptors name in shared
// memory, with `textures` also global memory that a texture object names. Of an asynchronous one: once it
// completes.
inline constexpr Effects reads = fact(4);
inline constexpr Effects writes = fact(5);
inline constexpr Effects updates = reads | writes;
inline constexpr Effects shared_operands = fact(6) | reads;
inline constexpr Effects textures = fact(7);
inline constexpr Effects on_mbarrier = fact(8);    // its address is an mbarrier's, which it works on at once
inline constexpr Effects makes_mbarrier = fact(9); // ... which begins or ends with it
inline constexpr Effects faults = fact(10);        // may be undefined behaviour for what it is given

// Who executes it together: it must not be made to depend on more conditions, or fewer.
inline constexpr Effects masked = fact(11); // the lanes of a membermask, its last operand
inline constexpr Effects by_warp = fact(12);
inline constexpr Effects by_warpgroup = fact(13);
inline constexpr Effects meets_cta = fact(14); // threads wait there for others of the CTA ...
inline constexpr Effects meets_cluster = fact(15);
inline constexpr Effects meets_grid = fact(16);

// Where the thread goes on.
inline constexpr Effects jumps = fact(17); // elsewhere, or nowhere
inline constexpr Effects stops = fact(18); // nowhere, and no thread does
inline constexpr Effects calls = fact(19); // behind it, after whatever the callee does

// When, and in what proxy.
inline constexpr Effects asynchronous = fact(20); // it may complete when the thread has gone on
inline constexpr Effects async_proxy = fact(21);
inline constexpr Effects tensormap_proxy = fact(22);
inline constexpr Effects cp_group =
    fact(23); // of which group of operations it is one, or that it commits or waits for
inline constexpr Effects bulk_group = fact(24);
inline constexpr Effects wgmma_group = fact(25);
inline constexpr Effects commits = fact(26);
inline constexpr Effects waits = fact(27); // for asynchronous operations that the thread has issued
inline constexpr Effects bulk = asynchronous | async_proxy | bulk_group;
inline constexpr Effects wgmma = by_warpgroup | asynchronous | async_proxy | wgmma_group;

// Its destinations are sources too.
inline constexpr Effects accumulates = fact(40);

// The order of memory.
inline constexpr Effects fences = fact(28);
inline constexpr Effects ordered = fact(29); // qualifiers may say its semantics and scope
constexpr Effects order(Semantics semantics, MemoryScope scope) {
  return ordered | Effects(static_cast<uint64_t>(semantics) << Effects::kSemantics |
                           static_cast<uint64_t>(scope) << Effects::kScope);
}

} // namespace effect

// Of an opcode; of Opcode::none, which is what the decoder makes itself, nothing is stated.
Effects effects_of(Opcode opcode);

// Who has one value of a special register: all threads of a CTA, of a warp, each for itself; and for how
// long.
enum class Extent : uint8_t {
  cta,
  warp,
  thread,
  moment, // a clock: no two reads need give the same
};
Extent extent_of(SpecialRegister sreg);

} // namespace lemma::isa
