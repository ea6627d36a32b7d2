// Archives: names of either kind, what is damaged, and the PTX of their members.
#include "image/archive.h"

#include "images.h"
#include "lemma/device.h"
#include "lemma/image.h"
#include "lemma/link.h"

namespace lemma::image {
namespace {

std::string member(std::string name, std::string_view contents) {
  name.resize(16, ' ');
  std::string size = std::to_string(contents.size());
  size.resize(10, ' ');
  return name + std::string(32, '0') + size + "`\n" + std::string(contents) +
         (contents.size() % 2 ? "\n" : "");
}

Bytes bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string refused(const std::string& archive) {
  const auto members = read_archive(bytes_of(archive));
  EXPECT_FALSE(members);
  return members ? "" : members.error();
}

constexpr const char* kMagic = "!<arch>\n";
// One that an archive's texts may share a name with.
constexpr const char* kCaller = ".version 8.0\n.target sm_90\n.address_size 64\n"
                                ".extern .func f();\n.visible .entry k() { call f, (); ret; }\n";
constexpr const char* kCalled =
    ".version 8.0\n.target sm_90\n.address_size 64\n.visible .func f() { ret; }\n";

TEST(Archive, Names) {
  const std::string archive = kMagic + member("/", "symbols") +
                              member("//", "a_long_name_of_gnu.o/\nother/\n") + member("short.o/", "1") +
                              member("/0", "22") + member("/22", "333") +
                              member("#1/24", "a_long_name_of_bsd.o" + std::string(4, '\0') + "4444") +
                              member("__.SYMDEF SORTED", "symbols") + member("plain", "");
  const auto members = read_archive(bytes_of(archive));
  ASSERT_TRUE(members) << members.error();
  std::vector<std::pair<std::string, size_t>> got;
  for (const ArchiveMember& each : *members)
    got.emplace_back(each.name, each.bytes.size());
  const std::vector<std::pair<std::string, size_t>> wanted = {
      {"short.o", 1}, {"a_long_name_of_gnu.o", 2}, {"other", 3}, {"a_long_name_of_bsd.o", 4}, {"plain", 0}};
  EXPECT_EQ(got, wanted);
}

TEST(Archive, WhatIsDamaged) {
  EXPECT_EQ(refused(std::string(kMagic) + "x"), "at byte 8 no member begins");
  EXPECT_EQ(refused("!<thin>\n" + member("a.o/", "")),
            "it is a thin archive: its members are files of their own, which are to be given");
  EXPECT_EQ(refused(kMagic + member("/7", "x")), "its names do not have one at 7");
  EXPECT_EQ(refused(kMagic + member("#1/9", "x")), "a name of 9 bytes reaches beyond its member");
  std::string cut = kMagic + member("a.o/", std::string(100, 'x'));
  cut.resize(cut.size() - 1);
  EXPECT_EQ(refused(cut), "the member at byte 8 reaches beyond its 167 bytes");
  std::string negative = kMagic + member("a.o/", "");
  negative.replace(8 + 48, 2, "-1");
  EXPECT_EQ(refused(negative), "the member at byte 8 reaches beyond its 68 bytes");
}

TEST(Archive, ObjectsOfNvccAreLinked) {
  const Contents library = image_file("library.a");
  ASSERT_TRUE(is_image(library));
  const auto whole = ptx_of_image(library, {.name = "library.a"});
  ASSERT_TRUE(whole) << whole.error().text;
  ASSERT_EQ(whole->size(), 1u);
  EXPECT_EQ(whole->front().name, "library.a");
  for (const char* name : {"_Z5twicef", "_Z6thricef"})
    EXPECT_NE(whole->front().text.find(name), std::string::npos) << name;
  const auto parts = ptx_of_image(library, {.name = "library.a", .link = false});
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->size(), 2u);
  EXPECT_EQ(parts->front().name, "library.a(called.o)");
  EXPECT_EQ(parts->back().name, "library.a(called_of_a_library.o)");
  EXPECT_EQ(parts->front().text.find("_Z6thricef"), std::string::npos);
  const auto none = ptx_of_image(library, {.arch = "sm_75", .name = "library.a"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unsupported);
}

TEST(Archive, TextsAndWhatIsNoCode) {
  const std::string archive =
      kMagic + member("caller.ptx/", kCaller) + member("called.ptx/", kCalled) + member("readme/", "words");
  const auto whole = ptx_of_image(bytes_of(archive), {.name = "lib.a"});
  ASSERT_TRUE(whole) << whole.error().text;
  ASSERT_EQ(whole->size(), 1u);
  EXPECT_TRUE(Device::open("cpu")->load_ptx(whole->front().text)) << whole->front().text;
  // Half of it is for a link with the rest.
  const std::string half = kMagic + member("caller.ptx/", kCaller);
  const auto parts = ptx_of_image(bytes_of(half), {.name = "lib.a", .link = false});
  ASSERT_TRUE(parts);
  EXPECT_EQ(parts->front().name, "lib.a(caller.ptx)");
  const std::vector<PtxText> texts = {{.text = parts->front().text, .name = "a"},
                                      {.text = kCalled, .name = "b"}};
  EXPECT_TRUE(link_ptx(texts));
  EXPECT_FALSE(ptx_of_image(bytes_of(kMagic + member("readme/", "words")), {.name = "lib.a"}));
  const auto broken = ptx_of_image(bytes_of(kMagic + member("x.o/", "\x7f"
                                                                    "ELF")),
                                   {.name = "lib.a"});
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().text, "lib.a(x.o): it is no ELF file of 64 bits, little endian");
}

} // namespace
} // namespace lemma::image
