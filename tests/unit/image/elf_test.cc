// ELF files and cubins, of any bytes.
#include "image/elf.h"

#include "image/cubin.h"
#include "images.h"

#include <algorithm>

namespace lemma::image {
namespace {

TEST(Elf, Sections) {
  const Contents bytes = image_file("modules.elf");
  const auto elf = read_elf(bytes);
  ASSERT_TRUE(elf) << elf.error();
  EXPECT_EQ(elf->machine, 62);
  EXPECT_GT(elf->section(".nv_fatbin").size(), 500u);
  EXPECT_TRUE(elf->section(".nvfatbin").empty());
}

TEST(Elf, AnyCutIsRefused) {
  const Contents bytes = image_file("lineinfo.cubin");
  // Whatever lies behind the last section, the headers of segments.
  size_t refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const Contents cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    refused += !read_elf(cut);
  }
  EXPECT_GT(refused, bytes.size() * 9 / 10);
}

TEST(Elf, NumbersThatLie) {
  const auto refused = [](size_t offset, auto value) {
    Contents bytes = image_file("lineinfo.cubin");
    put(bytes, offset, value);
    return !read_elf(bytes).ok();
  };
  EXPECT_TRUE(refused(4, uint8_t{1}));    // 32 bits
  EXPECT_TRUE(refused(5, uint8_t{2}));    // big endian
  EXPECT_TRUE(refused(40, ~uint64_t{0})); // where its sections are
  EXPECT_TRUE(refused(40, ~uint64_t{0} - 63));
  EXPECT_TRUE(refused(58, uint16_t{40}));     // size of their headers
  EXPECT_TRUE(refused(60, uint16_t{0xfff0})); // their number
  EXPECT_TRUE(refused(62, uint16_t{0xfff0})); // which has the names
  Contents bytes = image_file("lineinfo.cubin");
  uint64_t sections = 0;
  std::memcpy(&sections, bytes.data() + 40, sizeof sections);
  EXPECT_TRUE(refused(sections + 64 + 24, ~uint64_t{0} - 10)); // where a section is
  EXPECT_TRUE(refused(sections + 64 + 32, ~uint64_t{0}));      // and its size
  put(bytes, sections + 64, ~uint32_t{0});                     // its name: none
  ASSERT_TRUE(read_elf(bytes));
  EXPECT_EQ(read_elf(bytes)->sections[1].name, "");
}

// More sections than 16 bits count: the number stands in section 0.
TEST(Elf, ManySections) {
  Contents bytes = image_file("lineinfo.cubin");
  uint64_t sections = 0;
  uint16_t count = 0, names = 0;
  std::memcpy(&sections, bytes.data() + 40, sizeof sections);
  std::memcpy(&count, bytes.data() + 60, sizeof count);
  std::memcpy(&names, bytes.data() + 62, sizeof names);
  put(bytes, 60, uint16_t{0});
  put(bytes, 62, uint16_t{0xffff});
  put(bytes, sections + 32, uint64_t{count});
  put(bytes, sections + 40, uint32_t{names});
  const auto elf = read_elf(bytes);
  ASSERT_TRUE(elf) << elf.error();
  EXPECT_EQ(elf->sections.size(), count);
  EXPECT_EQ(read_cubin(*elf).texts.size(), 1u);
  put(bytes, sections + 32, ~uint64_t{0} / 64);
  EXPECT_FALSE(read_elf(bytes));
}

TEST(Elf, AtAPointer) {
  const Contents bytes = image_file("lineinfo.cubin");
  const auto found = elf_at(bytes.data());
  ASSERT_TRUE(found);
  EXPECT_LE(found->size(), bytes.size());
  EXPECT_EQ(read_cubin(*read_elf(*found)).texts.size(), 1u);
}

TEST(Cubin, ItsMachine) {
  EXPECT_EQ(isa::to_string(read_cubin(*read_elf(image_file("lineinfo.cubin"))).target), "sm_90a");
  EXPECT_EQ(isa::to_string(read_cubin(*read_elf(image_file("no_ptx.cubin"))).target), "sm_90");
  // CUDA 12's flags.
  Contents old = image_file("old.cubin");
  auto elf = *read_elf(old);
  elf.sections.clear();
  EXPECT_EQ(isa::to_string(read_cubin(elf).target), "sm_90");
}

// The .loc and .file that ptxas took out of the text, of the line tables.
TEST(Cubin, LinesOfTheSource) {
  const std::string ptx = read_cubin(*read_elf(image_file("lineinfo.cubin"))).texts.at(0);
  EXPECT_NE(ptx.find("\n.loc 1 2 0\n"), ptx.npos) << ptx;
  EXPECT_NE(ptx.find("/scale.cu\"\n"), ptx.npos) << ptx;
}

// As a linker of cubins names it.
TEST(Cubin, TextOfALink) {
  const Contents bytes = image_file("lineinfo.cubin");
  Elf elf = *read_elf(bytes);
  const std::string text = read_cubin(elf).texts.at(0);
  const auto section = std::ranges::find(elf.sections, ".nv_debug_ptx_txt", &ElfSection::name);
  ASSERT_NE(section, elf.sections.end());
  section->name = ".nv_debug_ptx_txt.669676624";
  EXPECT_EQ(read_cubin(elf).texts, std::vector{text});
  elf.sections.push_back(*section);
  EXPECT_EQ(read_cubin(elf).texts.size(), 2u);
  elf.sections.pop_back();
  std::ranges::find(elf.sections, ".nv_debug_ptx_txt.669676624", &ElfSection::name)->name =
      ".nv_debug_ptx_txt2";
  EXPECT_TRUE(read_cubin(elf).texts.empty());
}

TEST(Cubin, LineTablesOfAnyBytes) {
  const Contents bytes = image_file("lineinfo.cubin");
  const auto elf = *read_elf(bytes);
  for (const char* name : {".debug_line", ".nv_debug_line_sass", ".rela.debug_line", ".symtab"}) {
    const Bytes section = elf.section(name);
    ASSERT_FALSE(section.empty()) << name;
    const auto begin = static_cast<size_t>(section.data() - std::as_bytes(std::span(bytes)).data());
    for (size_t at = begin; at < begin + section.size(); ++at)
      for (const uint8_t value : {0x00, 0x01, 0x7f, 0xff}) {
        Contents changed = bytes;
        put(changed, at, value);
        const auto read = read_elf(changed);
        ASSERT_TRUE(read);
        EXPECT_NE(read_cubin(*read).texts.at(0).find(".entry"), std::string::npos);
      }
  }
}

TEST(Cubin, TextHasNewlines) {
  const Cubin cubin = read_cubin(*read_elf(image_file("lineinfo.cubin")));
  ASSERT_EQ(cubin.texts.size(), 1u);
  EXPECT_EQ(cubin.texts[0].find('\0'), std::string::npos);
  EXPECT_NE(cubin.texts[0].find("\n.target sm_90a\n"), std::string::npos) << cubin.texts[0];
}

TEST(Cubin, TargetsOfTexts) {
  const auto target = [](std::string_view text) {
    const auto found = target_of(text);
    return found ? isa::to_string(*found) : "none";
  };
  EXPECT_EQ(target("//\n// Generated\n//\n\n.version 9.0\n.target sm_90a\n"), "sm_90a");
  EXPECT_EQ(target("/* x */ .version 8.0 .target /* y */ sm_100f, debug"), "sm_100f");
  EXPECT_EQ(target("\n.target sm_80"), "sm_80");
  for (const char* const none :
       {"", ".version", ".version 8.0", ".target", ".target x", "/*", "//", "mov.u32"})
    EXPECT_EQ(target(none), "none") << none;
}

} // namespace
} // namespace lemma::image
