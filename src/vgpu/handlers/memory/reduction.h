// What reductions do to one element of memory: the arithmetic of red, for the asynchronous reductions.
//
// Tests: tests/unit/vgpu/atomic_test.cc, async_copy_test.cc.
#pragma once

#include "isa/vocabulary.h"

#include <cstddef>

namespace lemma::vgpu {

// Applies an operand to the element at `memory`, atomically for the host's threads. `flush`: f32 additions
// flush subnormals, as red does on global memory and bulk reductions do not.
using Reduce = void (*)(std::byte* memory, const std::byte* operand, bool flush);

// The asynchronous reduction .add, .min, .max, .inc, .dec, .and, .or or .xor on elements of this type; null:
// there is none.
Reduce find_reduction(isa::Qual operation, isa::Type type);
// Does it add floating-point numbers, so that the sum follows from the order?
bool adds_floats(Reduce reduce);

} // namespace lemma::vgpu
