// Fatbins that are damaged, or lie.
#include "image/fatbin.h"

#include "images.h"
#include "lemma/image.h"

#include <algorithm>
#include <functional>

namespace lemma::image {
namespace {

constexpr size_t kEntry = 16; // the first one's header

std::string refused(const std::string& file, const std::function<void(Contents&)>& change) {
  Contents bytes = image_file(file);
  change(bytes);
  const auto found = ptx_of_image(bytes, {.name = "x"});
  if (found)
    return "it was taken";
  EXPECT_EQ(found.error().kind, ErrorKind::invalid_argument);
  return found.error().text;
}

TEST(Fatbin, WhatItHolds) {
  const Contents bytes = image_file("several.fatbin");
  const auto fatbin = read_fatbin(bytes);
  ASSERT_TRUE(fatbin) << fatbin.error();
  EXPECT_EQ(fatbin->size_bytes, bytes.size());
  std::vector<std::string> all;
  for (const Entry& each : fatbin->entries)
    all.push_back(std::string(each.kind == EntryKind::ptx ? "ptx " : "cubin ") + isa::to_string(each.target));
  std::sort(all.begin(), all.end()); // nvcc has no order
  const std::vector<std::string> expected = {"cubin sm_80", "cubin sm_90a", "ptx sm_100f", "ptx sm_75",
                                             "ptx sm_90a"};
  EXPECT_EQ(all, expected);
}

TEST(Fatbin, AnyCutIsRefused) {
  for (const char* const file : {"zstd.fatbin", "lz4.fatbin", "plain.fatbin"})
    for (size_t size = 4; size < image_file(file).size(); ++size)
      EXPECT_NE(refused(file, [&](Contents& bytes) { bytes.resize(size); }), "it was taken") << file << size;
}

TEST(Fatbin, SizesThatLie) {
  const auto refused_put = [](const std::string& file, size_t offset, auto value) {
    return refused(file, [&](Contents& bytes) { put(bytes, offset, value); });
  };
  EXPECT_EQ(refused_put("zstd.fatbin", 4, uint16_t{2}),
            "x: fatbin 0: its version is 2, its header has 16 bytes; known are 1 and 16");
  EXPECT_EQ(refused_put("zstd.fatbin", 6, uint16_t{15}),
            "x: fatbin 0: its version is 1, its header has 15 bytes; known are 1 and 16");
  EXPECT_NE(refused_put("zstd.fatbin", 8, ~uint64_t{0}).find("says that it has"), std::string::npos);
  for (const uint32_t header : {0u, 63u, 100000u, ~0u})
    EXPECT_NE(refused_put("zstd.fatbin", kEntry + 4, header).find("entry 0 reaches beyond"),
              std::string::npos);
  for (const uint64_t payload : {uint64_t{100000}, ~uint64_t{0}, ~uint64_t{0} - 79})
    EXPECT_NE(refused_put("zstd.fatbin", kEntry + 8, payload).find("entry 0 reaches beyond"),
              std::string::npos);
  EXPECT_NE(refused_put("zstd.fatbin", kEntry + 16, uint32_t{100000}).find("are compressed"),
            std::string::npos);
  EXPECT_NE(refused_put("zstd.fatbin", kEntry + 56, uint64_t{0}).find("how long it was"), std::string::npos);
  EXPECT_NE(refused_put("zstd.fatbin", kEntry + 40, uint64_t{0x11}).find("way that is not known"),
            std::string::npos);
  for (const char* const file : {"zstd.fatbin", "lz4.fatbin"}) {
    const Contents bytes = image_file(file);
    uint64_t size = 0;
    std::memcpy(&size, bytes.data() + kEntry + 56, sizeof size);
    for (const uint64_t lie : {size - 1, size + 1})
      EXPECT_NE(refused_put(file, kEntry + 56, lie).find("does not decompress"), std::string::npos) << file;
    EXPECT_NE(refused_put(file, kEntry + 56, uint64_t{100} << 20).find("is the most"), std::string::npos)
        << file;
    EXPECT_NE(refused_put(file, kEntry + 16, uint32_t{40}).find("PTX for sm_90 does not decompress"),
              std::string::npos)
        << file;
  }
}

TEST(Fatbin, HugeTextsAreRefusedForTheirSize) {
  Contents bytes = image_file("zstd.fatbin");
  put(bytes, kEntry + 56, uint64_t{1} << 40);
  const auto found = ptx_of_image(bytes);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::out_of_memory);
}

// Behind a fatbin of which there is only a pointer nothing is read: address sanitizers see the rest.
TEST(Fatbin, APointerIsReadAsFarAsItsHeaderSays) {
  Contents bytes = image_file("zstd.fatbin");
  put(bytes, 8, uint64_t{64});
  const Contents cut(bytes.begin(), bytes.begin() + 16 + 64);
  const auto found = ptx_of_module_data(cut.data());
  ASSERT_FALSE(found);
  EXPECT_NE(found.error().text.find("entry 0 reaches beyond the 64 bytes"), std::string::npos)
      << found.error().text;
  put(bytes, 8, ~uint64_t{0} - 3);
  const Contents head(bytes.begin(), bytes.begin() + 16);
  EXPECT_FALSE(ptx_of_module_data(head.data()));
}

TEST(Fatbin, SeveralInARowWithZerosBetween) {
  Contents bytes = image_file("zstd.fatbin");
  const Contents second = image_file("lz4.fatbin");
  bytes.resize(bytes.size() + 24);
  bytes.insert(bytes.end(), second.begin(), second.end());
  bytes.resize(bytes.size() + 8);
  const auto found = ptx_of_image(bytes);
  ASSERT_TRUE(found) << found.error().text;
  EXPECT_EQ(found->size(), 2u);
  bytes.push_back(std::byte(1));
  EXPECT_EQ(ptx_of_image(bytes).error().text, "<image>: fatbin 2: it is no fatbin");
}

} // namespace
} // namespace lemma::image
