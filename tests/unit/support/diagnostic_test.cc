// How long messages may be.
#include "support/diagnostic.h"
#include "support/edit_distance.h"

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

TEST(Misspelt, IsWithinTwoEditsAndHalfOfAShortWord) {
  EXPECT_TRUE(is_misspelt("globl", "global", 2));
  EXPECT_TRUE(is_misspelt("lgobl", "global", 2));
  EXPECT_FALSE(is_misspelt("globular", "global", 2));
  EXPECT_FALSE(is_misspelt("global", "global", 2));
  EXPECT_TRUE(is_misspelt("frob", "row", 2));
  EXPECT_FALSE(is_misspelt("frob", "row", 3));
  EXPECT_TRUE(is_misspelt("ad", "add", 3));
  EXPECT_FALSE(is_misspelt("ad", "row", 2));
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

TEST(Diagnostic, RepairsAreMadeOnce) {
  const auto with = [](std::vector<Replacement> repairs) {
    return Diagnostic{Severity::error, "x", "x", {0, 1}, {}, std::move(repairs)};
  };
  size_t made = 0;
  EXPECT_EQ(apply_repairs("abcdef", {}, made), "abcdef");
  EXPECT_EQ(made, 0u);
  EXPECT_EQ(apply_repairs("abcdef", {with({{{4, 5}, "E"}}), with({{{0, 0}, "<"}, {{6, 6}, ">"}})}, made),
            "<abcdEf>");
  EXPECT_EQ(made, 3u);
  // Of those that overlap, or begin at one place, the first; none beyond the end.
  EXPECT_EQ(apply_repairs("abcdef",
                          {with({{{1, 4}, "-"}, {{2, 3}, "x"}, {{1, 1}, "y"}, {{4, 5}, "E"}, {{6, 7}, "z"}})},
                          made),
            "a-Ef");
  EXPECT_EQ(made, 2u);
  const auto text = [](const Diagnostic& d) { return notes_of(d).at(0).text; };
  EXPECT_EQ(text(with({{{0, 1}, "b"}})), "write b");
  EXPECT_EQ(text(with({{{1, 1}, ";"}, {{2, 2}, ";"}})), "insert ;, and mend 1 more place likewise");
}

} // namespace
} // namespace lemma
