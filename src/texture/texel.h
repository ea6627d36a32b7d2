// Texels: from the bytes in memory to the words of a result, and back for formatted stores.
//
// What the bits become was measured on an H200: docs/textures.md. Tests: tests/unit/texture/texel_test.cc,
// and the record in tests/textures.
#pragma once

#include "texture/object.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace lemma::texture {

// Of a channel: an f32 if the object reads floats, else an integer, sign-extended if it has a sign.
using Texel = std::array<uint32_t, 4>;

// The channels that a texel has not are 0.
Texel load_texel(const Object& object, const std::byte* bytes);
// The border's, as texels of this object are.
Texel border_texel(const Object& object);

// A word of a result as .f16 and .f16x2 give it.
uint16_t half_of(uint32_t word);

// What sust.p makes of the words of a store: texel_bytes() of them are written.
void store_texel(const Object& object, const Texel& words, std::byte* bytes);

} // namespace lemma::texture
