// Which findings are one defect. include/lemma/findings.h.
#include "lemma/findings.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lemma {
namespace {

Place place(const char* file, uint32_t line, uint32_t ptx_line) {
  Place made;
  made.ptx_line = ptx_line;
  made.file = file;
  made.line = line;
  return made;
}

// Between lines of "k.cu"; the PTX lines are ten times those.
Finding race(uint32_t line, uint32_t earlier, const char* id = "race.shared") {
  Finding made;
  made.id = id;
  made.kernel = "k";
  made.ptx = "k.ptx";
  made.access.place = place("k.cu", line, 10 * line);
  made.earlier.emplace().place = place("k.cu", earlier, 10 * earlier);
  made.fix = "a barrier (bar.sync) between them";
  made.count = 1;
  made.rendered = fmt::format("{}:{}\n", id, line);
  return made;
}

// The groups' members, each in the order of the findings.
std::vector<std::vector<size_t>> members(const std::vector<Finding>& findings) {
  std::vector<std::vector<size_t>> all;
  for (FindingGroup& each : group(findings)) {
    std::ranges::sort(each.members);
    all.push_back(std::move(each.members));
  }
  std::ranges::sort(all);
  return all;
}
using Members = std::vector<std::vector<size_t>>;

TEST(FindingGroups, StoresBeforeOneLoadAreOneDefect) {
  EXPECT_EQ(members({race(20, 10), race(20, 11), race(20, 12)}), (Members{{0, 1, 2}}));
  // ... whichever came first, and loads after one store.
  EXPECT_EQ(members({race(20, 10), race(11, 20), race(21, 11)}), (Members{{0, 1, 2}}));
}

TEST(FindingGroups, TwoStoresAndTwoLoadsThatShareStatementsAreOneDefect) {
  EXPECT_EQ(members({race(20, 10), race(21, 11), race(21, 10)}), (Members{{0, 1, 2}}));
}

TEST(FindingGroups, WhatSharesNoStatementIsAnotherDefect) {
  EXPECT_EQ(members({race(20, 10), race(21, 11)}), (Members{{0}, {1}}));
}

// 10 | 20 | 30: no barrier stands between both.
TEST(FindingGroups, OneAfterTheOtherAreTwoDefects) {
  EXPECT_EQ(members({race(20, 10), race(30, 20)}), (Members{{0}, {1}}));
  EXPECT_EQ(members({race(20, 10), race(30, 20), race(30, 10)}).size(), 2u);
}

// One store, and loads that must not be .nc: each is to be mended itself.
TEST(FindingGroups, LoadsOutsideOfTheMemoryModelAreOneEach) {
  std::vector<Finding> all{race(20, 10, "race.weak"), race(20, 11, "race.weak"), race(11, 21, "race.weak")};
  EXPECT_EQ(members(all), (Members{{0, 1, 2}}));
  for (Finding& each : all) {
    Place& load = each.access.place.line == 11 ? each.access.place : each.earlier->place;
    load.instruction = "ld.global.nc.u32 %r1, [%rd1];";
    each.fix = "ld.global without .nc";
  }
  EXPECT_EQ(members(all), (Members{{0}, {1, 2}}));
}

TEST(FindingGroups, UnrolledCodeIsOneStatement) {
  std::vector<Finding> all;
  for (uint32_t copy = 0; copy < 8; ++copy) {
    all.push_back(race(20, 10));
    all.back().access.place.ptx_line += 500 * copy;
    all.back().earlier->place.ptx_line += 500 * copy;
  }
  EXPECT_EQ(members(all), (Members{{0, 1, 2, 3, 4, 5, 6, 7}}));
  // Without lines of the source it is eight.
  for (Finding& each : all)
    each.access.place.file = each.earlier->place.file = "";
  EXPECT_EQ(members(all).size(), 8u);
}

TEST(FindingGroups, InlinedCodeIsTheUsersLine) {
  Finding a = race(20, 10), b = race(20, 10);
  a.access.place = place("/usr/include/lib.h", 5, 100);
  a.access.place.inlined_at = {{.file = "k.cu", .line = 20, .function = "k"}};
  b.access.place = place("/usr/include/lib.h", 9, 300);
  b.access.place.inlined_at = {{.file = "k.cu", .line = 20, .function = "k"}};
  EXPECT_EQ(members({a, b}), (Members{{0, 1}}));
  b.access.place.inlined_at.front().line = 40;
  b.earlier->place = place("k.cu", 30, 250);
  EXPECT_EQ(members({a, b}), (Members{{0}, {1}}));
}

// s[t] += s[t + n] in a loop, and what reads the sum: a barrier at the end of the loop mends both.
TEST(FindingGroups, AStatementThatDoesNotFitWithItselfTakesItsNeighbour) {
  EXPECT_EQ(members({race(12, 12), race(20, 12)}), (Members{{0, 1}}));
  EXPECT_EQ(members({race(12, 12), race(20, 12), race(12, 5)}).size(), 2u);
}

TEST(FindingGroups, WhatDiffersInIdFixOrWeightIsAnotherDefect) {
  Finding other_fix = race(20, 11), note = race(20, 12);
  other_fix.fix = "bar.warp.sync (__syncwarp) between them";
  note.is_note = true;
  EXPECT_EQ(members({race(20, 10), race(20, 10, "race.proxy"), other_fix, note}),
            (Members{{0}, {1}, {2}, {3}}));
}

// A barrier of the CTA does for lanes of a warp, too: what wants it is shown, and its place is the repair.
TEST(FindingGroups, TheWiderBarrierIsTheFixOfBoth) {
  Finding narrow = race(20, 10), wide = race(20, 11);
  narrow.fix = "bar.warp.sync (__syncwarp) between them";
  narrow.barrier = Barrier::warp;
  narrow.count = 100;
  wide.barrier = Barrier::cta;
  const auto put = [](uint32_t line, const char* text) {
    return std::vector<FindingRepair>{{.where = FindingRepair::Where::before,
                                       .place = place("k.cu", line, 10 * line),
                                       .edit = {10 * line, 1, 0, text}}};
  };
  narrow.repairs = put(20, "bar.warp.sync 0xffffffff;\n");
  wide.repairs = put(20, "bar.sync 0;\n");
  const std::vector<Finding> all = {narrow, wide};
  const std::vector<FindingGroup> groups = group(all);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].members, (std::vector<size_t>{1, 0}));
  EXPECT_EQ(to_text(groups[0].repairs, "k.ptx"), "bar.sync 0; before k.cu:20 (k.ptx:200)");
  // ... but of a barrier nothing that wants something else.
  Finding flag = race(20, 12);
  flag.fix = "a release";
  EXPECT_EQ(group(std::vector{narrow, wide, flag}).size(), 2u);
}

// Of three stores before two loads the place before the first load lies between all.
TEST(FindingGroups, TheRepairIsTheOneThatMendsAll) {
  std::vector<Finding> all = {race(25, 10), race(20, 10), race(20, 12)};
  for (Finding& each : all) {
    const uint32_t line = each.access.place.line;
    each.barrier = Barrier::cta;
    each.repairs = {{.place = place("", 0, 10 * line), .edit = {10 * line, 1, 0, "bar.sync 0;\n"}}};
  }
  ASSERT_EQ(group(all).size(), 1u);
  EXPECT_EQ(to_text(group(all)[0].repairs, "k.ptx"), "bar.sync 0; before k.ptx:200");
}

TEST(FindingGroups, AnOpcodeIsWrittenAnewWhereverAMemberWantsIt) {
  std::vector<Finding> all = {race(20, 10, "race.scope"), race(20, 11, "race.scope")};
  for (Finding& each : all) {
    const uint32_t line = each.earlier->place.line;
    each.fix = "scope .gpu on both";
    each.repairs = {{.where = FindingRepair::Where::instead,
                     .place = place("", 0, 10 * line),
                     .replaced = "red.cta.global.add.u32",
                     .edit = {10 * line, 5, 22, "red.gpu.global.add.u32"}}};
    each.repairs[0].place.instruction = "@%p1 red.cta.global.add.u32 [%rd1], 1;";
  }
  ASSERT_EQ(group(all).size(), 1u);
  EXPECT_EQ(to_text(group(all)[0].repairs, "k.ptx"),
            "red.gpu.global.add.u32 for red.cta.global.add.u32 at k.ptx:100; "
            "red.gpu.global.add.u32 for red.cta.global.add.u32 at k.ptx:110");
}

TEST(FindingGroups, WhatIsInDoubtHasAlternatives) {
  Finding finding = race(20, 20, "warp.mask");
  Place where = place("", 0, 200);
  where.instruction = "bar.warp.sync -1;";
  finding.rendered = "k.ptx:200: ...\n";
  finding.ptx = "k.ptx";
  finding.repairs = {
      {.where = FindingRepair::Where::instead, .place = where, .replaced = "-1", .edit = {200, 15, 2, "15"}}};
  finding.alternatives = {{{.where = FindingRepair::Where::instead,
                            .place = where,
                            .replaced = "bar.warp.sync -1;",
                            .edit = {200, 1, 17, ""}}}};
  const std::vector<Finding> all = {finding};
  EXPECT_EQ(group(all)[0].alternatives.size(), 1u);
  const std::string text = to_text(all);
  EXPECT_NE(text.find("  repair:  15 for -1 in bar.warp.sync -1; at k.ptx:200\n"), text.npos) << text;
  EXPECT_NE(text.find("  or:      no bar.warp.sync -1; at k.ptx:200\n"), text.npos) << text;
}

// Two flags, each without its release, that hand on the same cells: one cannot do for the other.
TEST(FindingGroups, WhatThreadsSynchronizeByIsMendedByItself) {
  const auto handed_on_by = [](uint32_t access, uint32_t earlier, std::vector<uint32_t> flags) {
    Finding finding = race(access, earlier, "race.weak");
    for (const uint32_t line : flags)
      finding.repairs.push_back({.where = FindingRepair::Where::instead,
                                 .place = place("k.cu", line, 10 * line),
                                 .replaced = "st.relaxed.gpu.u32",
                                 .edit = {10 * line, 1, 18, "st.release.gpu.u32"}});
    return finding;
  };
  EXPECT_EQ(members({handed_on_by(20, 10, {15}), handed_on_by(20, 11, {15})}), (Members{{0, 1}}));
  EXPECT_EQ(members({handed_on_by(20, 10, {15}), handed_on_by(20, 11, {16})}), (Members{{0}, {1}}));
  EXPECT_EQ(members({handed_on_by(20, 10, {15}), handed_on_by(20, 11, {15, 16})}), (Members{{0, 1}}));
  EXPECT_EQ(members({handed_on_by(20, 10, {15}), handed_on_by(20, 10, {16})}), (Members{{0}, {1}}));
}

// Of copies and fills nothing says which they were.
TEST(FindingGroups, WhatHasNoPlaceStaysAlone) {
  Finding a = race(0, 0), b = race(0, 0);
  a.access.place = b.access.place = a.earlier->place = b.earlier->place = {};
  EXPECT_EQ(members({a, b}), (Members{{0}, {1}}));
}

TEST(FindingGroups, AreCountedAndShownOnceTheWorstFirst) {
  std::vector<Finding> all = {race(40, 30), race(20, 10), race(20, 11), race(50, 45)};
  all[1].count = 3;
  all[2].count = 60;
  all[1].memory = "tile + 0x40";
  all[2].memory = "other";
  all[3].is_note = true;
  const FindingCounts counts = count(all);
  EXPECT_EQ(counts.errors, 2u);
  EXPECT_EQ(counts.notes, 1u);
  EXPECT_EQ(to_text(all), "race.shared:20\n"
                          "  also:    line 10 of k.cu\n"
                          "  memory:  other, tile\n"
                          "  count:   63 times, by 2 pairs of instructions\n"
                          "race.shared:40\n");
  EXPECT_EQ(to_text(all, {.notes = true, .most = 1}), to_text({&all[1], 2}) + "and 2 more: --all\n");
}

} // namespace
} // namespace lemma
