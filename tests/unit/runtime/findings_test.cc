// Counting, showing and merging findings. include/lemma/findings.h.
#include "lemma/findings.h"

#include <gtest/gtest.h>

#include <set>

namespace lemma {
namespace {

Finding finding(const char* id, uint32_t line, uint32_t earlier_line, uint64_t count = 1) {
  Finding made;
  made.id = id;
  made.access.place.ptx_line = line;
  made.earlier.emplace().place.ptx_line = earlier_line;
  made.count = count;
  made.rendered = made.id + "\n";
  return made;
}

TEST(Findings, AreCountedByWhatTheyAre) {
  std::vector<Finding> all;
  for (uint32_t line = 1; line <= 6; ++line)
    all.push_back(finding("race.shared", 10 * line, 10 * line + 1));
  all[0].is_note = all[1].is_note = true;
  all[1].suppressed = all[2].suppressed = true;
  const FindingCounts counts = count(all);
  EXPECT_EQ(counts.errors, 3u);
  EXPECT_EQ(counts.notes, 1u);
  EXPECT_EQ(counts.suppressed, 2u);
  EXPECT_EQ(to_text(counts), "3 findings, 1 note, 2 suppressed");
  EXPECT_EQ(to_text(FindingCounts()), "no findings");
  EXPECT_EQ(to_text(FindingCounts{.errors = 1}), "1 finding");
}

TEST(Findings, AreShownButForNotesAndThoseSuppressed) {
  std::vector<Finding> all = {finding("a", 1, 2), finding("b", 1, 2, 7), finding("c", 1, 2),
                              finding("d", 1, 2)};
  all[2].is_note = true;
  all[3].suppressed = true;
  EXPECT_EQ(to_text(all), "b\n  count:   7 times\na\n"); // what was seen most often is the worst
  EXPECT_EQ(to_text(all, {.notes = true}), "b\n  count:   7 times\na\nc\n");
}

TEST(Findings, OfOneDefectAreMerged) {
  std::vector<Finding> all;
  merge(all, std::vector{finding("a", 1, 2, 3), finding("b", 1, 2)});
  merge(all, std::vector{finding("a", 2, 1, 4), finding("a", 1, 3), finding("b", 1, 2, 9)});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].count, 7u); // which of the two accesses came first does not matter
  EXPECT_EQ(all[1].count, 10u);
  EXPECT_EQ(all[2].count, 1u);
  Finding other_file = finding("a", 1, 2);
  other_file.ptx = "other.ptx";
  Finding alone = finding("a", 1, 2);
  alone.earlier.reset();
  merge(all, std::vector{other_file, alone, alone});
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[4].count, 2u);
}

TEST(Findings, HaveKindsThatDiffer) {
  std::set<std::string_view> ids;
  for (const FindingKind& kind : finding_kinds()) {
    EXPECT_TRUE(ids.insert(kind.id).second) << kind.id;
    EXPECT_FALSE(kind.summary.empty() || kind.summary.ends_with('.')) << kind.id;
  }
  EXPECT_TRUE(ids.contains("race.shared"));
}

} // namespace
} // namespace lemma
