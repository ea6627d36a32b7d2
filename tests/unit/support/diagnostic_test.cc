// How long messages may be.
#include "support/diagnostic.h"

#include <gtest/gtest.h>

namespace lemma {
namespace {

TEST(Shortened, KeepsBothEnds) {
  EXPECT_EQ(shortened("short", 5), "short");
  EXPECT_EQ(shortened("0123456789abcdefghij", 14), "012345 ... hij");
  EXPECT_EQ(shortened("0123456789", 5), " ... ");
  EXPECT_EQ(shortened("0123456789", 2), " .");
  EXPECT_EQ(shortened("0123456789", 0), "");
}

TEST(Shortened, CutsNoCharacterInTwo) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "\xe2\x82\xac"; // the euro sign: 3 bytes
  for (size_t most = 6; most < 40; ++most) {
    const std::string cut = shortened(text, most);
    EXPECT_LE(cut.size(), most);
    const size_t gap = cut.find(" ... ");
    ASSERT_NE(gap, cut.npos);
    EXPECT_EQ(gap % 3, 0u) << most;
    EXPECT_EQ((cut.size() - gap - 5) % 3, 0u) << most;
  }
}

TEST(Nearest, ComparesOnlyWhatMayBeNear) {
  const std::string name(5'000'000, 'n'), other(5'000'000, 'm');
  EXPECT_TRUE(nearest(name, {"add", other}).empty());
  EXPECT_TRUE(nearest("add", {name}).empty());
  EXPECT_EQ(nearest("adt", {"mad24", "add", "addc", "sub"}), std::vector<std::string>({"add"}));
}

TEST(Render, IsShortHoweverLongTheNamesAndLinesAre) {
  const std::string name(5'000'000, 'n');
  const SourceText source("long.ptx", "mov.b32 " + name + ", 1;");
  Diagnostic diagnostic{Severity::error,
                        "unknown-name",
                        "there is no name '" + name + "' here",
                        {8, static_cast<uint32_t>(8 + name.size())},
                        {{"did you mean", name}}};
  const std::string text = render(diagnostic, source);
  EXPECT_LT(text.size(), 3 * kLongestMessage);
  EXPECT_NE(text.find("there is no name 'nnn"), text.npos);
  EXPECT_NE(text.find("nnn' here\n"), text.npos);
}

} // namespace
} // namespace lemma
