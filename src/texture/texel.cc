// What bytes of each format are as numbers, what a border is as bytes, and what formatted stores make of
// words. Measured on an H200; docs/textures.md has it in words.
#include "texture/texel.h"

#include "numeric/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace lemma::texture {
namespace {

using numeric::FloatFormat;

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

uint32_t bits_of_number(double value) {
  return std::bit_cast<uint32_t>(static_cast<float>(value));
}

// Integers of 8 and 16 bits as parts of the largest: the nearest f32. The least of those with a sign is -1
// too.
uint32_t normalized(int32_t value, int32_t largest) {
  return bits_of_number(static_cast<double>(std::max(value, -largest)) / largest);
}

// What an H200 makes of each byte of sRGB: the upper half of an f32. Near IEC 61966-2-1 rounded to 8 bits and
// 2^-14, but for 14 of them.
constexpr uint16_t kLinear[256] = {
    0x0000, 0x39a0, 0x3a20, 0x3a70, 0x3aa0, 0x3ac8, 0x3af0, 0x3b0c, 0x3b20, 0x3b34, 0x3b48, 0x3b5c, 0x3b70,
    0x3b84, 0x3b90, 0x3b9c, 0x3baa, 0x3bb8, 0x3bc6, 0x3bd6, 0x3be6, 0x3bf6, 0x3c03, 0x3c0c, 0x3c16, 0x3c1f,
    0x3c29, 0x3c34, 0x3c3e, 0x3c49, 0x3c55, 0x3c60, 0x3c6c, 0x3c7a, 0x3c83, 0x3c8a, 0x3c91, 0x3c98, 0x3c9f,
    0x3ca6, 0x3cae, 0x3cb6, 0x3cbe, 0x3cc6, 0x3cce, 0x3cd7, 0x3ce0, 0x3ce9, 0x3cf2, 0x3cfc, 0x3d03, 0x3d08,
    0x3d0d, 0x3d12, 0x3d17, 0x3d1c, 0x3d22, 0x3d28, 0x3d2d, 0x3d33, 0x3d39, 0x3d3f, 0x3d45, 0x3d4c, 0x3d52,
    0x3d58, 0x3d60, 0x3d66, 0x3d6c, 0x3d74, 0x3d7a, 0x3d81, 0x3d85, 0x3d88, 0x3d8c, 0x3d90, 0x3d94, 0x3d98,
    0x3d9c, 0x3da0, 0x3da4, 0x3da9, 0x3dad, 0x3db1, 0x3db6, 0x3dba, 0x3dbf, 0x3dc3, 0x3dc8, 0x3dcd, 0x3dd1,
    0x3dd6, 0x3ddb, 0x3de0, 0x3de5, 0x3dea, 0x3df0, 0x3df4, 0x3dfa, 0x3e00, 0x3e02, 0x3e05, 0x3e08, 0x3e0b,
    0x3e0e, 0x3e11, 0x3e14, 0x3e17, 0x3e1a, 0x3e1d, 0x3e20, 0x3e23, 0x3e26, 0x3e29, 0x3e2c, 0x3e30, 0x3e33,
    0x3e36, 0x3e3a, 0x3e3d, 0x3e40, 0x3e44, 0x3e47, 0x3e4b, 0x3e4e, 0x3e52, 0x3e56, 0x3e59, 0x3e5d, 0x3e61,
    0x3e65, 0x3e68, 0x3e6c, 0x3e70, 0x3e74, 0x3e78, 0x3e7c, 0x3e80, 0x3e82, 0x3e84, 0x3e86, 0x3e88, 0x3e8a,
    0x3e8d, 0x3e8f, 0x3e91, 0x3e93, 0x3e95, 0x3e98, 0x3e9a, 0x3e9c, 0x3e9e, 0x3ea1, 0x3ea3, 0x3ea5, 0x3ea8,
    0x3eaa, 0x3ead, 0x3eaf, 0x3eb2, 0x3eb4, 0x3eb6, 0x3eb9, 0x3ebc, 0x3ebe, 0x3ec1, 0x3ec3, 0x3ec6, 0x3ec8,
    0x3ecb, 0x3ece, 0x3ed1, 0x3ed3, 0x3ed6, 0x3ed9, 0x3edb, 0x3ede, 0x3ee1, 0x3ee4, 0x3ee7, 0x3eea, 0x3eed,
    0x3ef0, 0x3ef2, 0x3ef6, 0x3ef8, 0x3efc, 0x3efe, 0x3f01, 0x3f02, 0x3f04, 0x3f05, 0x3f07, 0x3f09, 0x3f0a,
    0x3f0c, 0x3f0d, 0x3f0f, 0x3f11, 0x3f12, 0x3f14, 0x3f16, 0x3f17, 0x3f19, 0x3f1b, 0x3f1c, 0x3f1e, 0x3f20,
    0x3f21, 0x3f23, 0x3f25, 0x3f27, 0x3f29, 0x3f2a, 0x3f2c, 0x3f2e, 0x3f30, 0x3f32, 0x3f33, 0x3f35, 0x3f37,
    0x3f39, 0x3f3b, 0x3f3d, 0x3f3f, 0x3f41, 0x3f43, 0x3f45, 0x3f47, 0x3f49, 0x3f4b, 0x3f4d, 0x3f4f, 0x3f51,
    0x3f53, 0x3f55, 0x3f57, 0x3f59, 0x3f5b, 0x3f5d, 0x3f5f, 0x3f61, 0x3f63, 0x3f65, 0x3f68, 0x3f6a, 0x3f6c,
    0x3f6e, 0x3f70, 0x3f72, 0x3f74, 0x3f76, 0x3f7a, 0x3f7c, 0x3f7e, 0x3f80,
};

// Alpha is not: the last of two channels, or of four.
bool is_srgb(const Object& object, uint32_t channel) {
  return object.descriptor.srgb && object.memory.type == TexelType::u8 &&
         (channel == 0 || channel + 1 < object.memory.channels);
}

uint32_t srgb_of_linear(float linear) {
  const double c = std::isnan(linear) ? 0 : std::clamp<double>(linear, 0, 1);
  const double s = c <= 0.0031308 ? c * 12.92 : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
  return static_cast<uint32_t>(s * 255 + 0.5);
}

// A number as an integer of the type: the nearest, halves towards zero.
uint32_t part_of(TexelType type, float value) {
  const bool is_signed = type == TexelType::s8 || type == TexelType::s16;
  const int largest = (1 << (8 * static_cast<int>(bytes_of(type)) - is_signed)) - 1;
  const double c = std::isnan(value) ? 0 : std::clamp<double>(value, is_signed ? -1 : 0, 1);
  const double parts = std::floor(std::abs(c) * largest * 64) / 64; // 6 bits behind the point
  return static_cast<uint32_t>(static_cast<int32_t>(std::copysign(std::ceil(parts - 0.5), c)));
}

// f16 to f32. A NaN keeps its bits, so that a signaling one stays that.
uint32_t widened(uint16_t half) {
  constexpr uint32_t kInfinity = 0x7c00;
  if ((half & kInfinity) != kInfinity)
    return static_cast<uint32_t>(numeric::convert_float(FloatFormat::f32, FloatFormat::f16, half));
  return uint32_t{half & 0x8000u} << 16 | 0x7f800000 | uint32_t{half & 0x3ffu} << 13;
}

// A linear filter takes -128 of s8 as it is.
bool filters(const Object& object) {
  return object.descriptor.filter == TextureFilter::linear && !object.is_surface;
}

uint32_t load_channel(const Object& object, const std::byte* bytes, uint32_t channel) {
  const bool as_float = object.reads_floats();
  const std::byte* at = bytes + channel * bytes_of(object.memory.type);
  switch (object.memory.type) {
  case TexelType::u8: {
    const auto value = load<uint8_t>(at);
    if (!as_float)
      return value;
    return is_srgb(object, channel) ? uint32_t{kLinear[value]} << 16 : normalized(value, 255);
  }
  case TexelType::s8: {
    const auto value = load<int8_t>(at);
    if (!as_float)
      return static_cast<uint32_t>(value);
    return filters(object) ? std::bit_cast<uint32_t>(static_cast<float>(value) / 127)
                           : normalized(value, 127);
  }
  case TexelType::u16: {
    const auto value = load<uint16_t>(at);
    return as_float ? normalized(value, 65535) : value;
  }
  case TexelType::s16: {
    const auto value = load<int16_t>(at);
    return as_float ? normalized(value, 32767) : static_cast<uint32_t>(value);
  }
  case TexelType::f16:
    return widened(load<uint16_t>(at));
  default:
    return load<uint32_t>(at);
  }
}

} // namespace

Texel load_texel(const Object& object, const std::byte* bytes) {
  Texel texel{};
  for (uint32_t channel = 0; channel < object.memory.channels; ++channel)
    texel[channel] = load_channel(object, bytes, channel);
  return texel;
}

// The border's colour becomes a texel of the format, towards zero: integers have its low bits, numbers are
// clamped.
Texel border_texel(const Object& object) {
  std::array<std::byte, 16> bytes{};
  for (uint32_t channel = 0; channel < object.memory.channels; ++channel) {
    const float colour = object.descriptor.border[channel];
    auto word = std::bit_cast<uint32_t>(colour);
    if (object.memory.type == TexelType::f16)
      word = std::isnan(colour)
                 ? 0x7e00
                 : static_cast<uint32_t>(numeric::convert_float(FloatFormat::f16, FloatFormat::f32, word,
                                                                {.rounding = numeric::Rounding::rz}));
    else if (bytes_of(object.memory.type) < 4 && object.reads_floats())
      word = is_srgb(object, channel) ? srgb_of_linear(colour) : part_of(object.memory.type, colour);
    const uint32_t size = bytes_of(object.memory.type);
    std::memcpy(bytes.data() + channel * size, &word, size);
  }
  return load_texel(object, bytes.data());
}

namespace {

// Integers are clamped to the type, f16 is cut off towards zero.
uint32_t stored(TexelType type, uint32_t word) {
  const auto clamped = [&](int low, int high) {
    return static_cast<uint32_t>(std::clamp(static_cast<int32_t>(word), low, high));
  };
  switch (type) {
  case TexelType::u8:
    return std::min(word, 255u);
  case TexelType::u16:
    return std::min(word, 65535u);
  case TexelType::s8:
    return clamped(-128, 127);
  case TexelType::s16:
    return clamped(-32768, 32767);
  case TexelType::f16:
    if (std::isnan(std::bit_cast<float>(word))) // the upper bits stay
      return (word >> 16 & 0x8000) | 0x7c00 | (word >> 13 & 0x3ff);
    return static_cast<uint32_t>(numeric::convert_float(FloatFormat::f16, FloatFormat::f32, word,
                                                        {.rounding = numeric::Rounding::rz}));
  default:
    return word;
  }
}

} // namespace

void store_texel(const Object& object, const Texel& words, std::byte* bytes) {
  const uint32_t size = bytes_of(object.memory.type);
  for (uint32_t channel = 0; channel < object.memory.channels; ++channel) {
    const uint32_t value = stored(object.memory.type, words[channel]);
    std::memcpy(bytes + channel * size, &value, size);
  }
}

uint16_t half_of(uint32_t word) {
  return static_cast<uint16_t>(numeric::convert_float(FloatFormat::f16, FloatFormat::f32, word));
}

} // namespace lemma::texture
