// The rules of docs/textures.md that surprise, one by one. All of them against hardware: tests/textures.
#include "texture/filter.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace lemma::texture {
namespace {

uint32_t bits(float value) {
  return std::bit_cast<uint32_t>(value);
}

Object row(uint64_t width, TextureFilter filter, bool normalized,
           TextureAddressing addressing = TextureAddressing::clamp) {
  Object object;
  object.memory = {.shape = TextureShape::d1, .type = TexelType::f32, .width = width};
  object.descriptor = {.addressing = {addressing, addressing, addressing},
                       .filter = filter,
                       .normalized_coordinates = normalized};
  return object;
}

uint64_t texel(const Object& object, float x) {
  return find_taps(object, {bits(x)}, 0).taps[0].offset / object.texel_bytes();
}

// 0.01f * 100 is 1 in f32; of 0.01f the first 21 bits count.
TEST(Filter, NormalizedCoordinatesHave21Bits) {
  const Object object = row(100, TextureFilter::point, true);
  EXPECT_EQ(texel(object, 0.01f), 0u);
  EXPECT_EQ(texel(object, 0.0100005f), 1u);
  EXPECT_EQ(texel(row(100, TextureFilter::point, true, TextureAddressing::wrap), -0.01f), 98u);
}

TEST(Filter, FractionsAreRoundedTo256Parts) {
  const Object object = row(16, TextureFilter::linear, false);
  EXPECT_EQ(find_taps(object, {bits(3.5f)}, 0).fractions[0], 0u);
  EXPECT_EQ(find_taps(object, {bits(3.5f + 1.0f / 512)}, 0).fractions[0], 1u);
  EXPECT_EQ(find_taps(object, {bits(3.5f + 1.0f / 1024)}, 0).fractions[0], 0u);
  const Taps first = find_taps(object, {bits(0.25f)}, 0); // before the first centre
  EXPECT_EQ(first.fractions[0], 0u);
  EXPECT_EQ(first.taps[0].offset, 0u);
}

// The texels on both sides of a seam are found each by itself.
TEST(Filter, SeamsOfWrapAndMirror) {
  const Taps wrapped =
      find_taps(row(4, TextureFilter::linear, true, TextureAddressing::wrap), {bits(0.0f)}, 0);
  EXPECT_EQ(wrapped.taps[0].offset, 12u);
  EXPECT_EQ(wrapped.taps[1].offset, 0u);
  const Taps mirrored =
      find_taps(row(4, TextureFilter::linear, true, TextureAddressing::mirror), {bits(1.0f)}, 0);
  EXPECT_EQ(mirrored.taps[0].offset, 12u);
  EXPECT_EQ(mirrored.taps[1].offset, 12u);
}

// A row's only y is half a texel from the border.
TEST(Filter, BorderOfARow) {
  const Taps taps =
      find_taps(row(4, TextureFilter::linear, false, TextureAddressing::border), {bits(2.0f)}, 0);
  EXPECT_EQ(taps.count, 4);
  EXPECT_TRUE(taps.taps[0].is_border);
  EXPECT_FALSE(taps.taps[2].is_border);
  EXPECT_EQ(taps.fractions[1], 128u);
}

TEST(Filter, WholeCoordinatesOutsideAreZeros) {
  Object object = row(4, TextureFilter::point, false, TextureAddressing::border);
  object.memory.shape = TextureShape::linear;
  EXPECT_FALSE(find_texel(object, {3}, 0).taps[0].is_zero);
  EXPECT_TRUE(find_texel(object, {4}, 0).taps[0].is_zero);
  EXPECT_TRUE(find_texel(object, {~0u}, 0).taps[0].is_zero);
}

TEST(Filter, LayersAreUnsigned) {
  Object object = row(4, TextureFilter::point, false);
  object.memory.shape = TextureShape::layered_1d;
  object.memory.depth = 6;
  EXPECT_EQ(layer_of(object, 3), 3u);
  EXPECT_EQ(layer_of(object, 6), 5u);
  EXPECT_EQ(layer_of(object, ~0u), 5u);
}

float filtered(float a, float b, uint32_t fraction, TexelType type = TexelType::f32) {
  Object object = row(4, TextureFilter::linear, false);
  object.memory.type = type;
  Taps taps;
  taps.axes = 1;
  taps.count = 2;
  taps.fractions[0] = fraction;
  return std::bit_cast<float>(combine(object, taps, {Texel{bits(a)}, Texel{bits(b)}})[0]);
}

TEST(Filter, SumsOfFloats) {
  EXPECT_EQ(filtered(1, 3, 64), 1.5f);
  EXPECT_EQ(filtered(0x1p-130f, 0, 1), 0.0f);    // subnormal numbers are 0
  EXPECT_EQ(filtered(1, 0x1p30f, 128), 0x1p29f); // far below: cut off
  EXPECT_EQ(filtered(1.0f, INFINITY, 0), 1.0f);  // no part of it
  EXPECT_EQ(filtered(1.0f, -INFINITY, 3), -INFINITY);
  EXPECT_EQ(bits(filtered(1.0f, NAN, 3)), 0x7fffffffu);
  EXPECT_EQ(bits(filtered(1.0f, NAN, 3, TexelType::f16)), 0x7fffe000u);
}

TEST(Filter, HalvesGoAwayFromZero) {
  const float next = std::bit_cast<float>(bits(1.0f) + 1);
  EXPECT_EQ(bits(filtered(1.0f, next, 128)), bits(next));
  EXPECT_EQ(bits(filtered(-1.0f, -next, 128)), bits(-next));
}

TEST(Filter, PartsOfIntegers) {
  EXPECT_EQ(filtered(0, 1, 128, TexelType::u8), 32768.0f / 65535);
  EXPECT_EQ(filtered(0, 1, 128, TexelType::s8), 16383.0f / 32767);
  EXPECT_EQ(filtered(64.0f / 127, 0, 0, TexelType::s8), 16513.0f / 32767);
  EXPECT_EQ(filtered(-64.0f / 127, 0, 0, TexelType::s8), -16512.0f / 32767);
  EXPECT_EQ(filtered(0, -128.0f / 127, 64, TexelType::s8), -8256.0f / 32767);
}

// One texel of each of two planes: `below` is far below `above`, and counts in steps that depend on the
// exponent of `above`, as it is stored, modulo four. As an H100 has them.
TEST(Filter, PlanesAreAlignedInStepsOfFour) {
  Object object = row(4, TextureFilter::linear, false);
  object.memory.shape = TextureShape::d3;
  Taps taps;
  taps.axes = 3;
  taps.count = 8;
  const auto sum = [&](float above, float below, uint32_t part_of_above) {
    taps.fractions[2] = part_of_above;
    std::array<Texel, 8> texels{};
    texels[0][0] = bits(below);
    texels[4][0] = bits(above);
    return bits(std::bit_cast<float>(combine(object, taps, texels)[0]));
  };
  EXPECT_EQ(sum(-0x1.fp+30f, -1.0f, 3), 0xcbba0001u);
  EXPECT_EQ(sum(-0x1.ecee74p+34f, 0x1.651e2p-1f, 192), 0xd0b8d96cu);
  EXPECT_EQ(sum(-0x1.d2a95cp+0f, 0x1.b17084p-35f, 192), 0xbfaeff82u);
  EXPECT_EQ(sum(-0x1.d8f24p+36f, 0x1.a0f3b6p-1f, 94), 0xd12da8f3u);
}

TEST(Filter, NegativeZerosStay) {
  EXPECT_EQ(bits(filtered(-0.0f, -0.0f, 128, TexelType::f16)), 0x80000000u);
  EXPECT_EQ(bits(filtered(-0.0f, 0.0f, 128, TexelType::f16)), 0u);
  EXPECT_EQ(bits(filtered(1.0f, -1.0f, 128, TexelType::f16)), 0u);
}

} // namespace
} // namespace lemma::texture
