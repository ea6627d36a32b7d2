// What reductions do to one element of memory: the same arithmetic for red and for the asynchronous
// reductions.
//
// Tests: tests/unit/vgpu/atomic_test.cc, async_copy_test.cc.
#pragma once

#include "isa/vocabulary.h"

#include <cstddef>

namespace lemma::vgpu {

// Applies an operand to the element at `memory`, atomically for the host's threads. `global`: the element is
// in global memory, where f32 additions flush subnormals.
using Reduce = void (*)(std::byte* memory, const std::byte* operand, bool global);

// The reduction of .add, .min, .max, .inc, .dec, .and, .or or .xor on elements of this type; null: there is
// none.
Reduce find_reduction(isa::Qual operation, isa::Type type);

} // namespace lemma::vgpu
