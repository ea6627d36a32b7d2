// PTX attached to cubins, of any bytes.
#include "image/attached.h"

#include "image/cubin.h"
#include "images.h"
#include "lemma/image.h"

namespace lemma::image {
namespace {

const std::string kScale =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry scale()\n{\nret;\n}\n";
const std::string kCaller = ".version 8.0\n.target sm_90\n.address_size 64\n.extern .func twice();\n"
                            ".visible .entry call()\n{\ncall twice;\nret;\n}\n";
const std::string kTwice =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .func twice()\n{\nret;\n}\n";

Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string attached(const std::string& file, const std::vector<std::string>& texts) {
  const auto done = attach_ptx(image_file(file), texts);
  EXPECT_TRUE(done) << done.error();
  return done ? *done : "";
}

std::string error_of(Bytes bytes, const std::vector<std::string>& texts) {
  const auto done = attach_ptx(bytes, texts);
  return done ? "none" : done.error();
}

TEST(Attached, AllElseStays) {
  const Contents before = image_file("no_ptx.cubin");
  const std::string after = attached("no_ptx.cubin", {kScale});
  constexpr size_t kHeader = 64;
  EXPECT_EQ(0, std::memcmp(after.data() + kHeader, before.data() + kHeader, before.size() - kHeader));
  const auto old = *read_elf(before), now = *read_elf(bytes_of(after));
  ASSERT_EQ(now.sections.size(), old.sections.size() + 1);
  for (size_t i = 0; i < old.sections.size(); ++i) {
    EXPECT_EQ(now.sections[i].name, old.sections[i].name);
    if (old.sections[i].name != ".shstrtab") {
      EXPECT_TRUE(std::ranges::equal(now.sections[i].bytes, old.sections[i].bytes)) << old.sections[i].name;
    }
  }
  EXPECT_EQ(now.sections.back().name, ".lemma_ptx");
  EXPECT_EQ(now.flags, old.flags);
}

TEST(Attached, IsWhatTheCubinHas) {
  const std::string after = attached("no_ptx.cubin", {kScale});
  EXPECT_EQ(read_cubin(*read_elf(bytes_of(after))).texts, std::vector{kScale});
  const auto at_pointer = ptx_of_module_data(after.data(), {.arch = "sm_90"});
  ASSERT_TRUE(at_pointer) << at_pointer.error().text;
  EXPECT_EQ(at_pointer->text, kScale);
  // Before the text that -lineinfo has left.
  const std::string lines = attached("lineinfo.cubin", {kScale});
  EXPECT_EQ(read_cubin(*read_elf(bytes_of(lines))).texts, std::vector{kScale});
}

TEST(Attached, Again) {
  const std::string once = attached("no_ptx.cubin", {kScale});
  const auto twice = attach_ptx(bytes_of(once), std::vector{kCaller, kTwice});
  ASSERT_TRUE(twice) << twice.error();
  const auto elf = *read_elf(bytes_of(*twice));
  EXPECT_EQ(elf.sections.size(), read_elf(bytes_of(once))->sections.size());
  EXPECT_EQ(attached_ptx(elf), (std::vector{kCaller, kTwice}));
}

TEST(Attached, SeveralAreLinked) {
  const std::string cubin = attached("no_ptx.cubin", {kCaller, kTwice});
  const auto one = ptx_of_module_data(cubin.data(), {.arch = "sm_90"});
  ASSERT_TRUE(one) << one.error().text;
  EXPECT_NE(one->text.find(".entry call"), std::string::npos);
  EXPECT_NE(one->text.find(".func twice"), std::string::npos);
  const auto of_file = ptx_of_image(bytes_of(cubin), {.arch = "sm_90"});
  ASSERT_TRUE(of_file) << of_file.error().text;
  ASSERT_EQ(of_file->size(), 1u);
  EXPECT_EQ(of_file->front().text, one->text);
  const auto parts = ptx_of_image(bytes_of(cubin), {.arch = "sm_90", .link = false});
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->size(), 2u);
}

// The machine code is for sm_90, whatever the text is for.
TEST(Attached, RunsWhereTheCubinDoes) {
  const std::string cubin = attached("no_ptx.cubin", {kTwice});
  EXPECT_EQ(isa::to_string(read_cubin(*read_elf(bytes_of(cubin))).target), "sm_90");
  EXPECT_TRUE(ptx_of_module_data(cubin.data(), {.arch = "sm_90"}));
  EXPECT_FALSE(ptx_of_module_data(cubin.data(), {.arch = "sm_80"}));
  EXPECT_FALSE(ptx_of_module_data(cubin.data(), {.arch = "sm_100"}));
}

TEST(Attached, WhatIsRefused) {
  const Contents cubin = image_file("no_ptx.cubin");
  EXPECT_EQ(error_of(cubin, {""}), "a PTX text is empty, or has a NUL inside");
  EXPECT_EQ(error_of(cubin, {std::string("a\0b", 3)}), "a PTX text is empty, or has a NUL inside");
  EXPECT_EQ(error_of(image_file("modules.elf"), {kScale}), "it is an ELF file of another machine than a GPU");
  EXPECT_EQ(error_of(bytes_of(kScale), {kScale}), "it is no ELF file of 64 bits, little endian");
  Contents changed = cubin;
  put(changed, 60, uint16_t{0xff00});
  EXPECT_NE(error_of(changed, {kScale}), "none");
  changed = cubin;
  put(changed, 60, uint16_t{0});
  EXPECT_NE(error_of(changed, {kScale}), "none");
}

// Whatever the bytes are, it ends; what it makes can be read again.
TEST(Attached, ToAnyBytes) {
  const Contents cubin = image_file("no_ptx.cubin");
  for (size_t at = 0; at < 64; ++at)
    for (const uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
      Contents changed = cubin;
      put(changed, at, value);
      if (const auto done = attach_ptx(changed, std::vector{kScale})) {
        EXPECT_TRUE(read_elf(bytes_of(*done))) << at;
      }
    }
}

} // namespace
} // namespace lemma::image
