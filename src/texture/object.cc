// The rules for texture and surface objects. See object.h.
#include "texture/object.h"

#include <fmt/format.h>

namespace lemma::texture {
namespace {

// The largest arrays of an H200 ("CUDA C++ Programming Guide", "Technical Specifications per Compute
// Capability").
constexpr uint64_t kMostTexels1d = 131072, kMost2d[] = {131072, 65536}, kMost3d = 16384, kMostLayers = 2048,
                   kMostLayered = 32768, kMostLinear = uint64_t{1} << 32;

struct Limits {
  uint64_t width, height, depth;
};

Limits limits_of(TextureShape shape) {
  switch (shape) {
  case TextureShape::linear:
    return {kMostLinear, 1, 1};
  case TextureShape::d1:
    return {kMostTexels1d, 1, 1};
  case TextureShape::d2:
    return {kMost2d[0], kMost2d[1], 1};
  case TextureShape::d3:
    return {kMost3d, kMost3d, kMost3d};
  case TextureShape::layered_1d:
    return {kMostLayered, 1, kMostLayers};
  case TextureShape::layered_2d:
    return {kMostLayered, kMostLayered, kMostLayers};
  case TextureShape::cube:
    return {kMostLayered, kMostLayered, 6};
  case TextureShape::layered_cube:
    return {kMostLayered, kMostLayered, 2046};
  }
  return {};
}

std::string wrong_size(const TextureMemory& memory) {
  const Limits most = limits_of(memory.shape);
  const auto check = [&](const char* what, uint64_t size, uint64_t limit) {
    return size >= 1 && size <= limit
               ? std::string()
               : fmt::format("{} is {}: a {} texture has 1 to {}", what, size, name_of(memory.shape), limit);
  };
  for (std::string wrong :
       {check("width", memory.width, most.width), check("height", memory.height, most.height),
        check("depth", memory.depth, most.depth)})
    if (!wrong.empty())
      return wrong;
  const bool is_cube = memory.shape == TextureShape::cube || memory.shape == TextureShape::layered_cube;
  if (is_cube && (memory.width != memory.height || memory.depth % 6 != 0))
    return fmt::format(
        "a cube of {}x{}x{}: width and height are the same, and depth is six faces for each layer",
        memory.width, memory.height, memory.depth);
  return {};
}

std::string wrong_memory(const Object& object) {
  const TextureMemory& memory = object.memory;
  if (memory.shape > TextureShape::layered_cube || memory.type > TexelType::f32)
    return "shape or type is none of those that there are";
  if (memory.channels != 1 && memory.channels != 2 && memory.channels != 4)
    return fmt::format("{} channels: there are textures of 1, 2 and 4", memory.channels);
  if (std::string wrong = wrong_size(memory); !wrong.empty())
    return wrong;
  const uint64_t row = memory.width * object.texel_bytes();
  if (memory.pitch_bytes != 0 && (memory.pitch_bytes < row || memory.pitch_bytes % object.texel_bytes() != 0))
    return fmt::format("the pitch is {} bytes: it is a multiple of a texel's {} and no less than a row's {}",
                       memory.pitch_bytes, object.texel_bytes(), row);
  if (object.pitch_bytes() > UINT64_MAX / (memory.height * memory.depth))
    return "the texture is larger than any memory";
  if (memory.address % object.texel_bytes() != 0)
    return fmt::format("the address {:#x} is no multiple of a texel's {} bytes", memory.address,
                       object.texel_bytes());
  return {};
}

} // namespace

uint32_t bytes_of(TexelType type) {
  switch (type) {
  case TexelType::u8:
  case TexelType::s8:
    return 1;
  case TexelType::u16:
  case TexelType::s16:
  case TexelType::f16:
    return 2;
  default:
    return 4;
  }
}

std::string name_of(TextureShape shape) {
  constexpr const char* kNames[] = {"linear",     "1D",         "2D",   "3D",
                                    "layered 1D", "layered 2D", "cube", "layered cube"};
  return kNames[static_cast<int>(shape)];
}

uint32_t Object::texel_bytes() const {
  return bytes_of(memory.type) * memory.channels;
}

uint64_t Object::bytes() const {
  return plane_bytes() * memory.depth - (pitch_bytes() - memory.width * texel_bytes());
}

uint64_t Object::layers() const {
  return memory.shape == TextureShape::layered_cube ? memory.depth / 6 : is_layered() ? memory.depth : 1;
}

int Object::axes() const {
  switch (memory.shape) {
  case TextureShape::linear:
  case TextureShape::d1:
  case TextureShape::layered_1d:
    return 1;
  case TextureShape::d3:
    return 3;
  default:
    return 2;
  }
}

bool Object::reads_floats() const {
  switch (memory.type) {
  case TexelType::f16:
  case TexelType::f32:
    return true;
  case TexelType::u32:
  case TexelType::s32:
    return false;
  default:
    return !descriptor.read_as_integer;
  }
}

std::string not_modelled(const Object& object) {
  const bool is_cube =
      object.memory.shape == TextureShape::cube || object.memory.shape == TextureShape::layered_cube;
  if (is_cube)
    return "cubes";
  const bool linear =
      object.descriptor.filter == TextureFilter::linear && object.reads_floats() && !object.is_surface;
  if (linear && object.descriptor.srgb)
    return "the linear filter of sRGB texels, whose bits are not known";
  return {};
}

std::string wrong_with(const Object& object) {
  if (std::string wrong = wrong_memory(object); !wrong.empty())
    return wrong;
  const TextureDescriptor& descriptor = object.descriptor;
  if (object.is_surface)
    return object.memory.shape == TextureShape::linear ? "there is no surface of linear memory: 1D is"
                                                       : std::string();
  for (const TextureAddressing addressing : descriptor.addressing)
    if (addressing > TextureAddressing::border)
      return "an addressing mode is none of wrap, clamp, mirror and border";
  if (descriptor.filter > TextureFilter::linear)
    return "the filter is neither point nor linear";
  return {};
}

} // namespace lemma::texture
