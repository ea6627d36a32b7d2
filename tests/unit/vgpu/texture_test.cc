// Texture and surface instructions: which object a handle means, which bytes are accessed, what is refused.
// What a fetch gives in bits is tests/textures'.
#include "kernel.h"
#include "vgpu/texture_objects.h"

#include <gtest/gtest.h>

#include <bit>
#include <numeric>

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
