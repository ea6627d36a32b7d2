// A texture or surface object, and the rules for one.
//
// Rules: "CUDA Driver API", cuTexObjectCreate, cuSurfObjectCreate; what the driver refuses was seen on an
// H200. Tests: tests/unit/runtime/texture_test.cc.
#pragma once

#include "lemma/texture.h"

#include <string>

namespace lemma::texture {

inline constexpr int kMostAxes = 3;

struct Object {
  TextureMemory memory;
  TextureDescriptor descriptor;
  bool is_surface = false;

  uint32_t texel_bytes() const;
  uint64_t pitch_bytes() const {
    return memory.pitch_bytes ? memory.pitch_bytes : memory.width * texel_bytes();
  }
  uint64_t plane_bytes() const { return pitch_bytes() * memory.height; }
  // From the first byte of the first texel to the end of the last.
  uint64_t bytes() const;
  bool is_layered() const {
    return memory.shape == TextureShape::layered_1d || memory.shape == TextureShape::layered_2d ||
           memory.shape == TextureShape::layered_cube;
  }
  uint64_t layers() const;
  // Coordinates besides the layer: those of texels, so that a cube has two.
  int axes() const;
  uint64_t size_on(int axis) const {
    return axis == 0 ? memory.width : axis == 1 ? memory.height : memory.depth;
  }
  // Texels become floating-point numbers: they are, or are read as such.
  bool reads_floats() const;
};

uint32_t bytes_of(TexelType type);
// "2D", "layered 1D"
std::string name_of(TextureShape shape);

// What the virtual GPU does not do for it; empty: it does all.
std::string not_modelled(const Object& object);
// The rule that it breaks, with what is legal; empty: none.
std::string wrong_with(const Object& object);

} // namespace lemma::texture
