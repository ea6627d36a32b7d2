// Once a level, as arithmetic is; the loops stand in texture_lanes.inc.
#include "vgpu/handlers/memory/texture_lanes.h"

#include "texture/filter.h"
#include "vgpu/engine/exec.h"
#include "vgpu/handlers/arithmetic/levels.h"

#include <immintrin.h>

#define LEMMA_KERNELS "vgpu/handlers/memory/texture_lanes.inc"
#include "vgpu/handlers/arithmetic/levels.inc"

namespace lemma::vgpu {

TexelGrid grid_of(const texture::Object& object) {
  TexelGrid grid;
  grid.axes = object.axes();
  const uint64_t strides[] = {object.texel_bytes(), object.pitch_bytes(), object.plane_bytes()};
  for (int axis = 0; axis < grid.axes; ++axis) {
    const auto i = static_cast<size_t>(axis);
    grid.axis[i] = {.size = static_cast<double>(object.size_on(axis)),
                    .stride_bytes = static_cast<double>(strides[i]),
                    .addressing = texture::addressing_of(object, axis)};
  }
  grid.is_normalized = object.descriptor.normalized_coordinates;
  grid.one = texture::parts_of_one(object);
  grid.layers = static_cast<double>(object.layers());
  grid.layer_bytes = static_cast<double>(object.plane_bytes());
  return grid;
}

const TextureLanes& texture_lanes() {
  static const LeveledTables<TextureLanes> tables(LEMMA_FILLS);
  return tables.now();
}

} // namespace lemma::vgpu
