// Textures and surfaces: memory that kernels read and write by coordinates (tex, tld4, txq; suld, sust,
// sured).
//
//   auto texels = device->allocate(width * height * 4);
//   lemma::TextureMemory memory{.shape = lemma::TextureShape::d2, .type = lemma::TexelType::f32,
//                               .address = texels->address(), .width = width, .height = height};
//   auto texture = lemma::Texture::create(*device, memory, {.filter = lemma::TextureFilter::linear});
//   kernel->launch({...}, {texture->handle(), ...});    // the kernel's cudaTextureObject_t, a .u64
//
// The memory is the caller's, in rows, and must stay as long as a kernel uses it. Coordinates, filters and
// formats are those of CUDA's texture objects ("CUDA C++ Programming Guide", "Texture Fetching"); what the
// hardware does in bits is docs/textures.md. One level, no mipmaps. On the virtual GPU alone: device "cuda"
// refuses.
//
// Tests: tests/unit/runtime/texture_test.cc.
#pragma once

#include "lemma/device.h"

#include <array>

namespace lemma {

// What a channel of a texel is in memory.
enum class TexelType : uint8_t { u8, s8, u16, s16, u32, s32, f16, f32 };

// linear: one row, read by whole numbers (tex1Dfetch). Layered shapes have `depth` layers, cubes six faces
// for each.
enum class TextureShape : uint8_t { linear, d1, d2, d3, layered_1d, layered_2d, cube, layered_cube };

// What a coordinate outside means. wrap and mirror are of normalized coordinates; with others they are clamp
// and border.
enum class TextureAddressing : uint8_t { wrap, clamp, mirror, border };

enum class TextureFilter : uint8_t { point, linear };

struct TextureMemory {
  TextureShape shape = TextureShape::d2;
  TexelType type = TexelType::f32;
  uint32_t channels = 1; // 1, 2 or 4
  uint64_t address = 0;
  uint64_t width = 1, height = 1, depth = 1; // texels; what the shape does not have is 1
  uint64_t pitch_bytes = 0;                  // from row to row; 0: no gaps. Planes have no gaps
};

struct TextureDescriptor {
  std::array<TextureAddressing, 3> addressing = {TextureAddressing::clamp, TextureAddressing::clamp,
                                                 TextureAddressing::clamp};
  TextureFilter filter = TextureFilter::point;
  bool normalized_coordinates = false; // 1 is the size
  bool read_as_integer = false; // integers of 8 and 16 bits as they are, else as numbers of [0, 1] or [-1, 1]
  bool srgb = false;            // u8: the channels but alpha, the last of two or four, are sRGB's
  std::array<float, 4> border = {0, 0, 0, 0};
};

// A texture object, or a surface object; it goes when this goes.
class Texture {
public:
  Texture() = default;
  Texture(Texture&& other) noexcept { swap(other); }
  Texture& operator=(Texture&& other) noexcept {
    Texture(std::move(other)).swap(*this);
    return *this;
  }
  ~Texture();

  // Errors: invalid_argument names the rule that is broken; unsupported on device "cuda".
  static Result<Texture, Error> create(const Device& device, const TextureMemory& memory,
                                       const TextureDescriptor& descriptor = {});
  // For suld, sust and sured, by bytes: of every shape but linear.
  static Result<Texture, Error> create_surface(const Device& device, const TextureMemory& memory);

  // What the kernel takes. 0 if the Texture is empty.
  uint64_t handle() const { return handle_; }

private:
  void swap(Texture& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
  }
  static Result<Texture, Error> make(const Device& device, const TextureMemory& memory,
                                     const TextureDescriptor& descriptor, bool is_surface);

  std::shared_ptr<runtime::DeviceImpl> device_;
  uint64_t handle_ = 0;
};

} // namespace lemma
