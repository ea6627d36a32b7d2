// Suppressions: what fits. What is refused, and how it looks: tests/cli/check_cli_test.py.
#include "lemma/suppressions.h"

#include <gtest/gtest.h>

namespace lemma {
namespace {

Finding finding() {
  Finding made;
  made.id = "race.shared";
  Place& place = made.access.place;
  place.ptx_line = 30;
  place.file = "/src/lib/a.cu";
  place.line = 7;
  place.function = "leaf";
  Place& earlier = made.earlier.emplace().place;
  earlier.ptx_line = 20;
  earlier.file = "b.cuh";
  earlier.line = 9;
  earlier.inlined_at = {{"c.cu", 11, "", ""}, {"/src/d.cu", 12, "top", ""}};
  earlier.function = "top";
  made.kernel = "top";
  made.ptx = "build/k.ptx";
  return made;
}

bool suppresses(const std::string& entry) {
  auto suppressions = Suppressions::parse(entry + " # why", "known.txt");
  if (!suppressions) {
    ADD_FAILURE() << entry << ": " << suppressions.error().text;
    return false;
  }
  std::vector<Finding> findings{finding()};
  suppressions->apply(findings);
  EXPECT_EQ(suppressions->unused().empty(), findings[0].suppressed);
  EXPECT_EQ(findings[0].suppressed_because, findings[0].suppressed ? "why" : "");
  return findings[0].suppressed;
}

TEST(Suppressions, FitById) {
  for (const char* entry : {"race.shared", "race.*", "*", "*shared", "ra?e.shared", "race.*shared"})
    EXPECT_TRUE(suppresses(entry)) << entry;
  for (const char* entry : {"race.global", "wgmma.*", "race.s?op?"})
    EXPECT_FALSE(suppresses(entry)) << entry;
}

TEST(Suppressions, FitByPlace) {
  for (const char* entry : {"* a.cu", "* lib/a.cu:7", "* /src/lib/a.cu", "* ./b.cuh:9", "* c.cu:11",
                            "* d.cu:10-14", "* *.cuh", "* k.ptx:30", "* build/k.ptx:20", "* k.ptx"})
    EXPECT_TRUE(suppresses(entry)) << entry;
  for (const char* entry : {"* a.cu:9", "* ib/a.cu", "* c.cu:12", "* k.ptx:7", "* e.cu", "* src/a.cu"})
    EXPECT_FALSE(suppresses(entry)) << entry;
}

TEST(Suppressions, FitByFunctionOfTheSameAccess) {
  for (const char* entry : {"* leaf", "* top", "* t*", "* leaf a.cu:7", "* b.cuh:9 top"})
    EXPECT_TRUE(suppresses(entry)) << entry;
  for (const char* entry : {"* other", "* b.cuh:9 leaf"})
    EXPECT_FALSE(suppresses(entry)) << entry;
}

TEST(Suppressions, OfSeveralTheFirstCounts) {
  auto suppressions =
      Suppressions::parse("race.weak # no\r\n\n# comment\n* # first # with a hash\n* # second", "f");
  ASSERT_TRUE(suppressions);
  std::vector<Finding> findings{finding(), finding()};
  suppressions->apply(findings);
  EXPECT_EQ(findings[1].suppressed_because, "first # with a hash");
  ASSERT_EQ(suppressions->entries().size(), 3u);
  EXPECT_EQ(suppressions->entries()[1].used, 2u);
  EXPECT_EQ(suppressions->entries()[1].line, 4u);
  ASSERT_EQ(suppressions->unused().size(), 2u);
  EXPECT_EQ(suppressions->unused()[1].line, 5u);
  EXPECT_EQ(suppressions->unused()[1].severity, Severity::warning);
}

// The pattern of a hostile file takes no long time.
TEST(Suppressions, MatchInTimeThatIsBounded) {
  std::string stars;
  for (int i = 0; i < 1000; ++i)
    stars += "*a";
  EXPECT_FALSE(suppresses("* " + stars + ".cu"));
  EXPECT_TRUE(Suppressions::parse("", "f"));
  EXPECT_FALSE(Suppressions::parse(std::string(1000, '\0'), "f"));
}

} // namespace
} // namespace lemma
