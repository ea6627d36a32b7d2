// What the texture and surface instructions have in common: a handle, coordinates, the object that the handle
// means, and its texels in memory.
//
// Handles are those of bindless objects, in a .b64 register; a .texref or .surfref by its name is not
// modelled.
//
// Tests: tests/unit/vgpu/texture_test.cc.
#pragma once

#include "texture/filter.h"
#include "vgpu/code/decoder.h"
#include "vgpu/memory/texture_objects.h"

#include <array>
#include <optional>
#include <vector>

namespace lemma::vgpu {

void add_surface_selectors(SelectorTable& table); // surface.cc: suld sust sured
void add_texture_selectors(SelectorTable& table); // texture.cc: tex tld4 txq suq

// .1d, .2d, .3d, .a1d, .a2d, .cube or .acube of an instruction.
struct TextureGeometry {
  bool layered = false;
  int axes = 1; // coordinates but the layer; those of a cube are a direction's
  bool cube = false;
  bool whole =
      false; // coordinates are whole numbers: of one axis, those of linear memory and not of an array
};
// Nothing: it has none of these.
std::optional<TextureGeometry> geometry_of(const ptx::Instruction& instruction);

// Sources: the handle, the layer if there is one, the coordinates.
struct TextureOperands {
  TextureGeometry geometry;
  uint64_t handle(const Exec& x, const DecodedInst& in, int lane) const {
    return x.src<uint64_t>(in, 0)[lane];
  }
  uint32_t layer(const Exec& x, const DecodedInst& in, int lane) const {
    return geometry.layered ? x.src<uint32_t>(in, 1)[lane] : 0;
  }
  texture::Coordinates coordinates(const Exec& x, const DecodedInst& in, int lane) const {
    texture::Coordinates result{};
    for (int axis = 0; axis < geometry.axes; ++axis)
      result[static_cast<size_t>(axis)] = x.src<uint32_t>(in, 1 + geometry.layered + axis)[lane];
    return result;
  }
};

// Places the sources of [handle, {coordinates}]; nothing where the operand is of another form, and then it is
// refused.
std::optional<TextureOperands> place_texture_operands(Decoder& decoder, const ptx::Instruction& instruction,
                                                      DecodedInst& in, size_t operand,
                                                      std::vector<Slot>& sources);
// The handle alone, of a query. False where it is a name.
bool place_handle(Decoder& decoder, size_t operand, std::vector<Slot>& sources);

// Places an instruction whose words execute, but not with `what`: reaching it is FaultKind::unsupported.
void refuse(Decoder& decoder, DecodedInst& in, const char* what);
inline constexpr const char* kName =
    "a texture or surface by its name, only with handles (cuTexObjectCreate, cuSurfObjectCreate)";

// The texture, or surface, that the lane's handle means. Null after a fault: it means none.
const texture::Object* find_object(Exec& x, const DecodedInst& in, int lane, bool surface);
// The same, of the instruction's geometry.
const texture::Object* find_object(Exec& x, const DecodedInst& in, int lane, bool surface,
                                   const TextureGeometry& geometry);

} // namespace lemma::vgpu
