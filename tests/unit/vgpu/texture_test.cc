// Texture and surface instructions: which object a handle means, which bytes are accessed, what is refused.
// What a fetch gives in bits is tests/textures'.
#include "kernel.h"
#include "numeric/hash.h"
#include "vgpu/engine/observer.h"
#include "vgpu/handlers/arithmetic/levels.h"
#include "vgpu/handlers/memory/texture_lanes.h"
#include "vgpu/memory/texture_objects.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <numeric>
#include <optional>

namespace lemma::vgpu {
namespace {

// A kernel of one thread block: `body` has the handle in %h, where to write in %out and the thread in %t.
std::string kernel(const std::string& body) {
  return R"(.visible .entry k(.param .u64 handle, .param .u64 to) {
  .reg .b64 %h, %out, %offset;
  .reg .b32 %t, %r<8>;
  .reg .b16 %s<4>;
  .reg .f32 %f<8>;
  .reg .pred %p<4>;
  ld.param.u64 %h, [handle];
  ld.param.u64 %out, [to];
  mov.u32 %t, %tid.x;
  mul.wide.u32 %offset, %t, 16;
  add.u64 %out, %out, %offset;
)" + body +
         "}\n";
}

std::vector<float> ramp(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

// 8 x 4 texels, each its number.
texture::Object image(Kernel& k) {
  texture::Object object;
  object.memory = {.shape = TextureShape::d2,
                   .type = TexelType::f32,
                   .address = k.buffer(ramp(32), "image"),
                   .width = 8,
                   .height = 4};
  return object;
}

constexpr const char* kFetch = R"(
  cvt.rn.f32.u32 %f0, %t;
  mov.f32 %f1, 0f40000000;
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%h, {%f0, %f1}];
  st.global.v4.f32 [%out], {%f2, %f3, %f4, %f5};
  ret;
)";

TEST(Texture, FetchesByHandle) {
  Kernel k(kernel(kFetch));
  const uint64_t handle = add_texture_object(k.memory(), image(k)), out = k.buffer(std::vector<float>(128));
  EXPECT_TRUE(k.run({handle, out}).ok());
  const auto got = k.read<float>(out, 128);
  EXPECT_EQ(got[4 * 5], 21.0f);
  EXPECT_EQ(got[4 * 5 + 1], 0.0f);
  EXPECT_EQ(got[4 * 5 + 3], 0.0f); // what a texel has not, alpha too
  EXPECT_EQ(got[4 * 31], 23.0f);   // clamped
}

TEST(Texture, HandlesThatMeanNothingAreFaults) {
  Kernel k(kernel(kFetch));
  const uint64_t handle = add_texture_object(k.memory(), image(k)), out = k.buffer(std::vector<float>(128));
  for (const uint64_t wrong : {uint64_t{0}, handle + 1, ~uint64_t{0}}) {
    const Report report = k.run({wrong, out});
    ASSERT_TRUE(report.fault);
    EXPECT_NE(report.fault->message.find("is that of no texture"), std::string::npos)
        << report.fault->message;
  }
  EXPECT_TRUE(remove_texture_object(k.memory(), handle));
  EXPECT_FALSE(remove_texture_object(k.memory(), handle));
  EXPECT_FALSE(k.run({handle, out}).ok());
  EXPECT_NE(add_texture_object(k.memory(), image(k)), handle); // never used again
  EXPECT_FALSE(k.run({handle, out}).ok());
}

TEST(Texture, OtherShapesAndSurfacesAreFaults) {
  Kernel k(kernel(kFetch));
  texture::Object line = image(k);
  line.memory.shape = TextureShape::d1;
  line.memory.height = 1;
  const uint64_t out = k.buffer(std::vector<float>(128));
  Report report = k.run({add_texture_object(k.memory(), line), out});
  ASSERT_TRUE(report.fault);
  EXPECT_NE(report.fault->message.find("of another shape"), std::string::npos) << report.fault->message;
  texture::Object surface = image(k);
  surface.is_surface = true;
  report = k.run({add_texture_object(k.memory(), surface), out});
  ASSERT_TRUE(report.fault);
  EXPECT_NE(report.fault->message.find("that of a surface"), std::string::npos) << report.fault->message;
}

TEST(Texture, MemoryThatIsGoneIsAFault) {
  Kernel k(kernel(kFetch));
  const texture::Object object = image(k);
  const uint64_t handle = add_texture_object(k.memory(), object), out = k.buffer(std::vector<float>(128));
  k.memory().free(object.memory.address);
  const Report report = k.run({handle, out});
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->kind, FaultKind::out_of_bounds);
}

TEST(Texture, TexelsThatWereNeverWrittenAreReported) {
  Kernel k(kernel(kFetch));
  texture::Object object = image(k);
  object.memory.address = k.uninitialized_buffer(128, "image");
  EXPECT_FALSE(k.run({add_texture_object(k.memory(), object), k.buffer(std::vector<float>(128))})
                   .uninitialized.empty());
}

TEST(Texture, WhatIsNotModelledIsUnsupported) {
  for (const char* instruction : {"tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%h, {%f0, %f1}], {%r0, %r1};",
                                  "tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%h, %h, {%f0, %f1}];"}) {
    Kernel k(std::string(".version 8.5\n.target sm_90, texmode_independent\n.address_size 64\n") +
             kernel(instruction));
    const Report report =
        k.run({add_texture_object(k.memory(), image(k)), k.buffer(std::vector<float>(128))});
    EXPECT_EQ(report.outcome, Outcome::unsupported) << instruction;
  }
}

// Destinations may be the coordinates, and there may be a predicate.
TEST(Texture, PredicateAndSharedRegisters) {
  Kernel k(kernel(R"(
  mov.f32 %f0, 0f40400000;
  mov.f32 %f1, 0f3F800000;
  tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}|%p0, [%h, {%f0, %f1}];
  selp.f32 %f3, %f0, 0f00000000, %p0;
  st.global.f32 [%out], %f3;
  ret;
)"));
  const uint64_t out = k.buffer(std::vector<float>(128));
  EXPECT_TRUE(k.run({add_texture_object(k.memory(), image(k)), out}).ok());
  EXPECT_EQ(k.read<float>(out, 1)[0], 11.0f);
}

// --- all lanes at once ---

// Near the texture, on the edges between texels, far away, and any bits: NaNs, infinities, subnormal numbers.
uint32_t some_coordinate(numeric::Random& random, bool normalized, uint64_t size) {
  const auto number = [](double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); };
  const double texels =
      static_cast<double>(random.bits(12)) / 1024 * static_cast<double>(size) - static_cast<double>(size);
  const double unit = normalized ? static_cast<double>(size) : 1;
  switch (random.bits(3)) {
  case 0:
    return static_cast<uint32_t>(random.next());
  case 1:
    return number(std::floor(texels) / unit);
  case 2:
    return number(std::nextafter(static_cast<float>(std::floor(texels) / unit), -1.0f));
  case 3:
    return number(std::ldexp(texels, static_cast<int>(random.bits(6)) - 10) / unit);
  default:
    return number(texels / unit);
  }
}

texture::Object some_object(numeric::Random& random, TextureShape shape) {
  constexpr TextureAddressing kAddressing[] = {TextureAddressing::wrap, TextureAddressing::clamp,
                                               TextureAddressing::mirror, TextureAddressing::border};
  constexpr uint64_t kWidths[] = {1, 8, 60, 512, 9000, 70000};
  texture::Object object;
  object.memory = {
      .shape = shape,
      .type = random.bits(1) ? TexelType::f32 : TexelType::s8,
      .channels = random.bits(1) ? 4u : 1u,
      .address = 0,
      .width = kWidths[random.bits(8) % 6],
      .height = shape == TextureShape::d1 || shape == TextureShape::linear ? 1 : 1 + random.bits(5),
      .depth = shape == TextureShape::d3 || shape == TextureShape::layered_2d ? 1 + random.bits(3) : 1};
  for (TextureAddressing& addressing : object.descriptor.addressing)
    addressing = kAddressing[random.bits(2)];
  object.descriptor.normalized_coordinates = random.bits(2) != 0;
  return object;
}

// The offset that the plain way finds; none where there is no texel.
std::optional<uint64_t> one_offset(const texture::Taps& taps) {
  EXPECT_EQ(taps.count, 1);
  const texture::Tap& tap = taps.taps[0];
  return tap.is_border || tap.is_zero ? std::nullopt : std::optional(tap.offset);
}

TEST(TextureLanes, AreWhereOneLaneAfterTheOtherFindsThem) {
  numeric::Random random(5);
  size_t inside = 0, outside = 0;
  for (const TextureShape shape :
       {TextureShape::d1, TextureShape::d2, TextureShape::d3, TextureShape::layered_2d, TextureShape::linear})
    for (int repeat = 0; repeat < 200; ++repeat) {
      const texture::Object object = some_object(random, shape);
      const bool layered = object.is_layered(), whole = shape == TextureShape::linear || random.bits(2) == 0;
      uint32_t coordinates[texture::kMostAxes][kWarpSize], layers[kWarpSize];
      const uint32_t* axes[] = {coordinates[0], coordinates[1], coordinates[2]};
      for (int lane = 0; lane < kWarpSize; ++lane) {
        layers[lane] = static_cast<uint32_t>(random.bits(4));
        for (int axis = 0; axis < object.axes(); ++axis)
          coordinates[axis][lane] =
              whole ? (random.bits(3) ? static_cast<uint32_t>(random.next() % (object.size_on(axis) + 1))
                                      : static_cast<uint32_t>(random.next()))
                    : some_coordinate(random, object.descriptor.normalized_coordinates, object.size_on(axis));
      }
      for (const HostLevel level : host_levels()) {
        set_host_level(level);
        LaneTexels texels;
        (whole ? texture_lanes().find_whole
               : texture_lanes().find)(grid_of(object), axes, layered ? layers : nullptr, kAllLanes, texels);
        for (int lane = 0; lane < kWarpSize; ++lane) {
          texture::Coordinates at{};
          for (int axis = 0; axis < object.axes(); ++axis)
            at[static_cast<size_t>(axis)] = coordinates[axis][lane];
          const uint32_t layer = layered ? layers[lane] : 0;
          const auto wanted = one_offset(whole ? find_texel(object, at, layer)
                                               : find_taps(object, at, layer_of(object, layer)));
          ASSERT_EQ(texels.outside >> lane & 1, !wanted) << to_string(level);
          ASSERT_EQ(texels.offsets[lane], wanted.value_or(0)) << to_string(level) << std::hex << at[0];
          ++(wanted ? inside : outside);
        }
      }
    }
  set_host_level(host_levels().back());
  EXPECT_GT(inside, 1000u);
  EXPECT_GT(outside, 1000u);
}

// A warp of which some lanes are on the border, of which some do not execute, and whose texels lie apart.
TEST(TextureLanes, GiveWhatAnObserverSees) {
  const std::string body = R"(
  cvt.rn.f32.u32 %f0, %t;
  mul.rn.f32 %f0, %f0, 0f3F400000;
  mul.rn.f32 %f1, %f0, 0f3E800000;
  mov.f32 %f2, 0f42280000;
  mov.f32 %f3, %f2;
  mov.f32 %f4, %f2;
  mov.f32 %f5, %f2;
  setp.ne.u32 %p0, %t, 5;
  @%p0 tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%h, {%f0, %f1}];
  st.global.v4.f32 [%out], {%f2, %f3, %f4, %f5};
  ret;
)";
  std::vector<std::vector<uint32_t>> results;
  for (const TexelType type : {TexelType::f32, TexelType::u8}) {
    for (const bool watched : {false, true}) {
      Kernel k(kernel(body));
      AccessCounter nothing;
      if (watched)
        k.watch(nothing);
      texture::Object object = image(k);
      object.memory.type = type;
      object.memory.pitch_bytes = 32;
      object.descriptor.addressing = {TextureAddressing::border, TextureAddressing::border,
                                      TextureAddressing::border};
      object.descriptor.border = {0.5f, 0.25f, 1, 0};
      const uint64_t out = k.buffer(std::vector<float>(128));
      EXPECT_TRUE(k.run({add_texture_object(k.memory(), object), out}).ok());
      results.push_back(k.read<uint32_t>(out, 128));
    }
    EXPECT_EQ(results[results.size() - 2], results.back());
  }
  EXPECT_NE(results[0], results[2]);
}

TEST(Surface, TrapIsAFaultThatSaysWhere) {
  Kernel k(kernel("mov.b32 %r0, 32; mov.b32 %r1, 1;\n sust.b.2d.b32.trap [%h, {%r0, %r1}], %t; ret;\n"));
  texture::Object surface = image(k);
  surface.is_surface = true;
  const Report report = k.run({add_texture_object(k.memory(), surface), 0});
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->kind, FaultKind::out_of_bounds);
  EXPECT_NE(report.fault->message.find("(32, 1) lie outside"), std::string::npos) << report.fault->message;
}

TEST(Surface, ReductionsOfManyThreads) {
  Kernel k(kernel("mov.b32 %r0, 4; mov.b32 %r1, 2;\n sured.b.add.2d.u32.trap [%h, {%r0, %r1}], %t; ret;\n"));
  texture::Object surface = image(k);
  surface.is_surface = true;
  surface.memory.type = TexelType::u32;
  surface.memory.address = k.buffer(std::vector<uint32_t>(32));
  k.config().block = {256, 1, 1};
  k.config().grid = {8, 1, 1};
  EXPECT_TRUE(k.run({add_texture_object(k.memory(), surface), 0}).ok());
  EXPECT_EQ(k.read<uint32_t>(surface.memory.address, 32)[17], 8u * 255 * 128);
}

} // namespace
} // namespace lemma::vgpu
