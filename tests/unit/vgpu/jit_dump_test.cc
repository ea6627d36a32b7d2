// The file that names compiled code for perf.
#include "vgpu/compiled/jit_dump.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace lemma::vgpu {
namespace {

std::string contents_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

uint32_t word(const std::string& text, size_t at) {
  uint32_t value = 0;
  std::memcpy(&value, text.data() + at, sizeof value);
  return value;
}

TEST(JitDump, NamesCode) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / ("jit_dump_test-" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::array<std::byte, 3> code{std::byte{0x90}, std::byte{0x90}, std::byte{0xc3}};
  {
    JitDump dump(folder);
    dump.add(code, "k: lines 3 to 9");
    dump.add(code, "k");
  }
  const std::string text = contents_of(folder / ("jit-" + std::to_string(::getpid()) + ".dump"));
  constexpr size_t kHeader = 40, kLoad = 56;
  ASSERT_EQ(text.size(), kHeader + 2 * (kLoad + code.size()) + 16 + 2);
  EXPECT_EQ(text.substr(0, 4), "DTiJ");
  EXPECT_EQ(word(text, 8), kHeader);
  EXPECT_EQ(word(text, kHeader + 4), kLoad + 16 + code.size());
  EXPECT_EQ(text.substr(kHeader + kLoad, 16), std::string("k: lines 3 to 9\0", 16));
  EXPECT_EQ(text.substr(text.size() - 5), std::string("k\0\x90\x90\xc3", 5));
  std::filesystem::remove_all(folder);
}

TEST(JitDump, AFolderThatIsNotThereIsNoHarm) {
  JitDump dump("/nowhere/at/all");
  dump.add({}, "k");
}

} // namespace
} // namespace lemma::vgpu
