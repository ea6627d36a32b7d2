// What an instruction says about the order of its memory operation: semantics and scope. Read from its
// row and qualifiers, once, when it is decoded.
//
// PTX ISA: "Memory Consistency Model": "Operation types", "MemoryScope". Tests:
// tests/unit/vgpu/memory_order_test.cc.
#pragma once

#include "isa/effects.h"

namespace lemma::ptx {
struct Instruction;
}

namespace lemma::vgpu {

// Weak operations have no scope.
using isa::MemoryScope;
using isa::Semantics;

struct MemoryOrder {
  Semantics semantics = Semantics::weak;
  MemoryScope scope = MemoryScope::none;
  friend bool operator==(const MemoryOrder&, const MemoryOrder&) = default;
};

// With the ISA's defaults: atom is .relaxed.gpu, mbarrier.arrive .release.cta, ld and st are weak.
// Of barriers: what they order. Weak for what accesses no memory.
MemoryOrder order_of(const ptx::Instruction& instruction);

// "acquire", "volatile"; "cta".
const char* to_string(Semantics semantics);
const char* to_string(MemoryScope scope);

} // namespace lemma::vgpu
