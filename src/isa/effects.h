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

constexpr bool acquires(Semantics semantics) {
  return semantics == Semantics::acquire || semantics == Semantics::acq_rel || semantics == Semantics::sc;
}
constexpr bool releases(Semantics semantics) {
  return semantics == Semantics::release || semantics == Semantics::acq_rel || semantics == Semantics::sc;
}

class Effects {
public:
  constexpr Effects() = default;
  constexpr explicit Effects(uint64_t facts) : facts_(facts) {}

  constexpr bool has(Effects other) const { return (facts_ & other.facts_) == other.facts_; }
  constexpr bool has_any(Effects other) const { return (facts_ & other.facts_) != 0; }
  constexpr bool is_stated() const { return facts_ != 0; }
  // The order of its memory operation, where no qualifier says otherwise.
  constexpr Semantics semantics() const { return static_cast<Semantics>(facts_ >> kSemantics & 15); }
  // Of what synchronizes, that: an arrival only releases, and a wait acquires.
  constexpr bool acquires() const { return isa::acquires(semantics()); }
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

// What a pure one makes of its sources.
inline constexpr Effects moves = fact(4);        // these bits, in one register or spread over several
inline constexpr Effects converts = fact(5);     // the same number, or place, in another type or space
inline constexpr Effects adds = fact(6);         // the sum or the difference of two
inline constexpr Effects bitwise = fact(7);      // of each bit of two sources one bit
inline constexpr Effects zero_decides = fact(8); // ... 0 where one of the two is, whatever the other is
inline constexpr Effects one_decides = fact(9);  // ... 1 where one of the two is
inline constexpr Effects shifts_left = fact(10); // the first, by as many bits as the second says
inline constexpr Effects shifts_right = fact(11);
inline constexpr Effects selects = fact(12);  // the first or the second, as the third, a predicate, says
inline constexpr Effects compares = fact(13); // predicates: how two numbers compare, joined with another
inline constexpr Effects makes = moves | converts | adds | bitwise | zero_decides | one_decides |
                                 shifts_left | shifts_right | selects | compares; // any of these

// Memory, in the spaces of its address operands; with `shared_operands` also what descriptors name in shared
// memory, with `textures` also global memory that a texture object names. Of an asynchronous one: once it
// completes.
inline constexpr Effects reads = fact(14);
inline constexpr Effects writes = fact(15);
inline constexpr Effects updates = reads | writes;
// Each lane by itself, at once, at the address that it has. See is_load() and its kin.
inline constexpr Effects accesses = fact(16);
inline constexpr Effects reduces = fact(17); // combines with what is in memory, and gives nothing back
inline constexpr Effects shared_operands = fact(18) | reads;
inline constexpr Effects textures = fact(19);
inline constexpr Effects samples = fact(20); // gives texels as a sampler says, filtered
inline constexpr Effects tensor_memory = fact(21);
inline constexpr Effects on_mbarrier = fact(22);    // its address is an mbarrier's, which it works on at once
inline constexpr Effects makes_mbarrier = fact(23); // ... which begins with it
inline constexpr Effects ends_mbarrier = fact(24);  // ... which ends with it
inline constexpr Effects hints = fact(25);          // to the cache, about what its address names
inline constexpr Effects faults = fact(26);         // may be undefined behaviour for what it is given

// Who executes it together: it must not be made to depend on more conditions, or fewer.
inline constexpr Effects masked = fact(27);   // the lanes of a membermask, its last operand
inline constexpr Effects shuffles = fact(28); // gives lanes what others have of its first source
inline constexpr Effects collects = fact(29); // gives all of these lanes what follows from the sources of all
inline constexpr Effects by_warp = fact(30);
inline constexpr Effects aligned = fact(31); // as if it said .aligned
inline constexpr Effects by_warpgroup = fact(32);
inline constexpr Effects meets_cta = fact(33); // threads wait there for others of the CTA ...
inline constexpr Effects meets_cluster = fact(34);
inline constexpr Effects meets_grid = fact(35);

// Where the thread goes on.
inline constexpr Effects jumps = fact(36);          // elsewhere, or nowhere
inline constexpr Effects leaves = fact(37) | jumps; // out of the function, or the kernel
inline constexpr Effects stops = fact(38);          // nowhere, and no thread does
inline constexpr Effects calls = fact(39);          // behind it, after whatever the callee does

// When, and in what proxy.
inline constexpr Effects asynchronous = fact(40); // it may complete when the thread has gone on
inline constexpr Effects async_proxy = fact(41);
inline constexpr Effects tensormap_proxy = fact(42);
inline constexpr Effects aliases = fact(52); // several addresses of one place: it goes by one, or orders them
inline constexpr Effects multimem = aliases | faults; // by an address of several devices' memory
inline constexpr Effects cp_group = fact(43);         // the group that it is of, or commits, or waits for
inline constexpr Effects bulk_group = fact(44);
inline constexpr Effects wgmma_group = fact(45);
inline constexpr Effects commits = fact(46);
inline constexpr Effects waits = fact(47);  // for asynchronous operations that the thread has issued
inline constexpr Effects tracks = fact(48); // has an mbarrier wait for them, once they are complete
inline constexpr Effects bulk = asynchronous | async_proxy | bulk_group;
inline constexpr Effects tcgen05 = tensor_memory | updates | shared_operands | asynchronous | async_proxy;
inline constexpr Effects wgmma = by_warpgroup | asynchronous | async_proxy | wgmma_group;

// Its destinations are sources too.
inline constexpr Effects accumulates = fact(51);

// The order of memory.
inline constexpr Effects fences = fact(49);
inline constexpr Effects ordered = fact(50); // qualifiers may say its semantics and scope
inline constexpr Effects orders = fences | ordered;
constexpr Effects order(Semantics semantics, MemoryScope scope) {
  return ordered | Effects(static_cast<uint64_t>(semantics) << Effects::kSemantics |
                           static_cast<uint64_t>(scope) << Effects::kScope);
}

} // namespace effect

// Of what `accesses`: ld and ldu, st, and what does both in one, atom and red.
constexpr bool is_load(Effects effects) {
  return effects.has(effect::accesses) && !effects.has(effect::writes);
}
constexpr bool is_store(Effects effects) {
  return effects.has(effect::accesses) && !effects.has(effect::reads);
}
constexpr bool is_atomic(Effects effects) {
  return effects.has(effect::accesses | effect::updates);
}

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
