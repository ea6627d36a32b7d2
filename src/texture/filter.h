// A fetch: coordinates to texels and weights, and these to one result.
//
// What the hardware does was measured on an H200: docs/textures.md. Tests: tests/unit/texture/filter_test.cc,
// and the record in tests/textures.
#pragma once

#include "texture/texel.h"

namespace lemma::texture {

// A coordinate of 32 bits: an f32, or for fetches by whole numbers an s32.
using Coordinates = std::array<uint32_t, kMostAxes>;

// One texel that a fetch reads. Without a place it is the border, or zeros (outside linear memory).
struct Tap {
  bool is_border = false, is_zero = false;
  uint64_t offset = 0; // bytes, from the first texel
};

// The texels that a fetch reads: one, or two for each axis - the first axis changes first. Where the filter
// is linear, the second one on an axis has fractions[axis] of 256 parts of the weight.
struct Taps {
  int count = 1;
  int axes = 0; // that are filtered
  std::array<Tap, 8> taps;
  std::array<uint32_t, kMostAxes> fractions{};
};

// By f32 coordinates, with the object's filter.
Taps find_taps(const Object& object, const Coordinates& coordinates, uint64_t layer);
// By s32 coordinates: one texel, whatever the filter and the addressing; zeros outside, where `layer` is none
// too.
Taps find_texel(const Object& object, const Coordinates& coordinates, uint32_t layer);
// tld4: the four texels that a linear filter would read, counter-clockwise from the lower left.
Taps find_gather(const Object& object, const Coordinates& coordinates, uint64_t layer);

// A word of what tld4 gives, of a texel's: its NaNs, subnormal numbers and parts of 16 bits are those of a
// filter.
uint32_t gathered(const Object& object, uint32_t word);

// What addressing an axis has: wrap and mirror are of normalized coordinates; else they are clamp.
TextureAddressing addressing_of(const Object& object, int axis);
// Of normalized coordinates: so many parts of 1 count, on every axis.
double parts_of_one(const Object& object);

// The layer that an index means: one that there is.
uint64_t layer_of(const Object& object, uint32_t index);

// What a fetch gives, in the words that .f32, .s32 and .u32 give alike.
Texel combine(const Object& object, const Taps& taps, const std::array<Texel, 8>& texels);

} // namespace lemma::texture
