// Textures and surfaces of the public API: made, used by a kernel, gone; what is refused. lemma/texture.h.
#include "lemma/texture.h"

#include <gtest/gtest.h>

#include <numeric>

namespace lemma {
namespace {

constexpr const char* kKernel = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 handle, .param .u64 surface, .param .u64 out)
{
  .reg .f32 %f<6>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd0, [handle];
  ld.param.u64 %rd1, [surface];
  ld.param.u64 %rd2, [out];
  mov.f32 %f0, 0f40000000;
  mov.f32 %f1, 0f3F800000;
  tex.2d.v4.f32.f32 {%f2, %f3, %f4, %f5}, [%rd0, {%f0, %f1}];
  st.global.f32 [%rd2], %f2;
  mov.b32 %r0, 8;
  mov.b32 %r1, 1;
  sust.b.2d.b32.trap [%rd1, {%r0, %r1}], %f2;
  ret;
}
)";

TEST(Texture, OfABuffer) {
  const auto device = Device::open("cpu");
  ASSERT_TRUE(device);
  const auto module = device->load_ptx(kKernel);
  ASSERT_TRUE(module);
  auto texels = device->allocate(64), out = device->allocate(4);
  std::vector<float> values(16);
  std::iota(values.begin(), values.end(), 0.0f);
  ASSERT_TRUE(texels->copy_from(std::as_bytes(std::span(values))));
  const TextureMemory memory{.address = texels->address(), .width = 4, .height = 4};
  auto texture = Texture::create(*device, memory, {.filter = TextureFilter::linear});
  auto surface = Texture::create_surface(*device, memory);
  ASSERT_TRUE(texture && surface);
  const auto kernel = module->kernel("k");
  auto report = kernel->launch({}, {texture->handle(), surface->handle(), *out});
  ASSERT_TRUE(report && report->ok());
  float got = -1;
  ASSERT_TRUE(out->copy_to(std::as_writable_bytes(std::span(&got, 1))));
  EXPECT_EQ(got, 3.5f); // between 1, 2, 5 and 6
  ASSERT_TRUE(texels->copy_to(std::as_writable_bytes(std::span(&got, 1)), 6 * sizeof(float)));
  EXPECT_EQ(got, 3.5f);

  const uint64_t handle = texture->handle();
  *texture = Texture();
  report = kernel->launch({}, {handle, surface->handle(), *out});
  ASSERT_TRUE(report);
  EXPECT_FALSE(report->ok());
}

TEST(Texture, WrongOnesAreRefused) {
  const auto device = Device::open("cpu");
  const auto error_of = [&](const TextureMemory& memory, const TextureDescriptor& descriptor = {}) {
    const auto made = Texture::create(*device, memory, descriptor);
    return made ? std::string() : made.error().text;
  };
  EXPECT_EQ(error_of({.address = 256}), "");
  EXPECT_NE(error_of({.channels = 3, .address = 256}).find("3 channels"), std::string::npos);
  EXPECT_NE(error_of({.address = 256, .width = 0}).find("width is 0"), std::string::npos);
  EXPECT_NE(error_of({.address = 256, .width = 200000}).find("131072"), std::string::npos);
  EXPECT_NE(error_of({.address = 257}).find("no multiple"), std::string::npos);
  EXPECT_NE(error_of({.shape = TextureShape::cube, .address = 256, .depth = 6}).find("cubes"),
            std::string::npos);
  EXPECT_EQ(error_of({.type = TexelType::s8, .address = 256}, {.filter = TextureFilter::linear}), "");
  EXPECT_NE(error_of({.type = TexelType::u8, .address = 256}, {.filter = TextureFilter::linear, .srgb = true})
                .find("sRGB"),
            std::string::npos);
  EXPECT_FALSE(Texture::create_surface(*device, {.shape = TextureShape::linear, .address = 256}));
}

} // namespace
} // namespace lemma
