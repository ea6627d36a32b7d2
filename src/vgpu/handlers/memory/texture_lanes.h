// Where the texels lie that a warp's lanes fetch, for fetches of one texel a lane from one object:
// texture::find_taps() without a filter and texture::find_texel(), of all lanes at once by the host's
// vectors. The decoder asks for it, and a plan keeps it.
//
// Tests: tests/unit/vgpu/texture_test.cc (at every level that the host has, against those functions).
#pragma once

#include "texture/filter.h"
#include "vgpu/code/code.h"

#include <array>
#include <cstdint>

namespace lemma::vgpu {

// What of an object a fetch without a filter depends on.
struct TexelGrid {
  struct Axis {
    double size = 1;         // texels
    double stride_bytes = 0; // from a texel to the next
    TextureAddressing addressing = TextureAddressing::clamp;
  };
  int axes = 1;
  std::array<Axis, texture::kMostAxes> axis;
  bool is_normalized = false;
  double one = 1; // normalized: parts of a coordinate that count
  double layers = 1, layer_bytes = 0;
};
TexelGrid grid_of(const texture::Object& object);

struct LaneTexels {
  uint64_t offsets[kWarpSize];      // bytes from the object's first texel; 0 where there is none
  LaneMask outside = 0;             // lanes without a texel: on the border, or zeros
  uint64_t lowest = 0, highest = 0; // offset of those that were asked for, if any is inside
};

struct TextureLanes {
  // By f32 coordinates, and by whole ones; `coordinates` by axis, `layers` null where there are none; `lanes`
  // are those that are asked for.
  void (*find)(const TexelGrid& grid, const uint32_t* const* coordinates, const uint32_t* layers,
               LaneMask lanes, LaneTexels& out) = nullptr;
  void (*find_whole)(const TexelGrid& grid, const uint32_t* const* coordinates, const uint32_t* layers,
                     LaneMask lanes, LaneTexels& out) = nullptr;
};
const TextureLanes& texture_lanes();

} // namespace lemma::vgpu
