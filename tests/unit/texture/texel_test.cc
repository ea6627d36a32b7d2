// Texels of every format; borders; formatted stores. All of it against hardware: tests/textures.
#include "texture/texel.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

namespace lemma::texture {
namespace {

Object of(TexelType type, uint32_t channels = 1) {
  Object object;
  object.memory = {.shape = TextureShape::d2, .type = type, .channels = channels, .width = 4, .height = 4};
  return object;
}

template <class T>
Texel load(const Object& object, T value) {
  std::byte bytes[16] = {};
  std::memcpy(bytes, &value, sizeof value);
  return load_texel(object, bytes);
}

float number(uint32_t word) {
  return std::bit_cast<float>(word);
}

TEST(Texel, IntegersAsNumbers) {
  EXPECT_EQ(number(load(of(TexelType::u8), uint8_t{51})[0]), 0.2f);
  EXPECT_EQ(number(load(of(TexelType::s8), int8_t{-128})[0]), -1.0f);
  EXPECT_EQ(number(load(of(TexelType::s8), int8_t{-127})[0]), -1.0f);
  EXPECT_EQ(number(load(of(TexelType::u16), uint16_t{65535})[0]), 1.0f);
  EXPECT_EQ(number(load(of(TexelType::s16), int16_t{-32768})[0]), -1.0f);
}

TEST(Texel, IntegersAsTheyAre) {
  Object object = of(TexelType::s8);
  object.descriptor.read_as_integer = true;
  EXPECT_EQ(load(object, int8_t{-2})[0], 0xfffffffeu);
  EXPECT_EQ(load(of(TexelType::u32), 0xdeadbeefu)[0], 0xdeadbeefu);
}

TEST(Texel, WhatIsNotThereIsZero) {
  const Texel texel = load(of(TexelType::f32), 1.0f);
  EXPECT_EQ(texel[1], 0u);
  EXPECT_EQ(texel[3], 0u);
}

TEST(Texel, SignalingNanOfF16Stays) {
  EXPECT_EQ(load(of(TexelType::f16), uint16_t{0x7dee})[0], 0x7fbdc000u);
}

TEST(Texel, SrgbButNotAlpha) {
  Object object = of(TexelType::u8, 4);
  object.descriptor.srgb = true;
  const Texel texel = load(object, 0x80808080u);
  EXPECT_EQ(texel[0], texel[2]);
  EXPECT_NEAR(number(texel[0]), 0.2158, 0.001);
  EXPECT_NEAR(number(texel[3]), 0.5019, 0.001);
}

TEST(Texel, BorderIsCutOff) {
  Object object = of(TexelType::u8, 2);
  object.descriptor.border = {0.3f, -1.7f, 0, 0};
  EXPECT_EQ(number(border_texel(object)[0]), 76.0f / 255);
  EXPECT_EQ(number(border_texel(object)[1]), 0.0f);
  object.descriptor.read_as_integer = true;
  EXPECT_EQ(border_texel(object)[0], 0x9au); // of 0x3e99999a
}

} // namespace
} // namespace lemma::texture
