// Where a barrier can stand between two instructions that are marked, on kernels of a few branches.
#include "check/meeting.h"

#include "ptx/parser.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace lemma::check {
namespace {

// Of a body in which `from` is the first store and `to` the first load: "before LINE", "behind LINE", of the
// body from 1; empty: nowhere.
std::string place_in(const std::string& body, Together together = Together::cta) {
  constexpr uint32_t kHeader = 12; // lines
  const std::string text = ".version 8.6\n.target sm_90a\n.address_size 64\n.entry k(.param .u64 p) {\n"
                           ".reg .pred %p<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n.shared .b32 s[64];\n"
                           "mov.u32 %r0, %tid.x;\nmov.u32 %r1, %ctaid.x;\n"
                           "setp.eq.u32 %p0, %r0, 0;\nsetp.eq.u32 %p1, %r1, 0;\n" +
                           body + "\n}\n";
  const auto parsed = ptx::parse(std::make_shared<SourceText>("k.ptx", text));
  EXPECT_FALSE(has_errors(parsed.diagnostics)) << render(parsed.diagnostics, *parsed.module->source);
  const ptx::Function& function = parsed.module->functions[0];
  const auto first = [&](isa::Opcode opcode) {
    uint32_t i = 0;
    while (function.instructions[i].opcode != opcode)
      ++i;
    return i;
  };
  const MeetingPlaces places(function);
  if (!places.is_known())
    return "not known";
  const auto point = places.between(first(isa::Opcode::st), first(isa::Opcode::ld), together);
  if (!point)
    return "";
  const uint32_t begin = function.instructions[point->instruction].range.begin;
  return fmt::format("{} {}", point->behind ? "behind" : "before",
                     parsed.module->source->line_column(begin).line - kHeader);
}

TEST(MeetingPlaces, TheNearestToTheSecond) {
  EXPECT_EQ(place_in("st.shared.u32 [s], 1;\nadd.u32 %r2, %r0, 1;\nld.shared.u32 %r3, [s];\nret;"),
            "before 3");
}

// Where threads differ all come to the branch, or to where both ways meet.
TEST(MeetingPlaces, OutsideOfDividedCode) {
  const char* load_is_one_threads = "st.shared.u32 [s], 1;\n@!%p0 bra END;\nld.shared.u32 %r3, [s];\n"
                                    "mov.u32 %r4, 0;\nEND:\nst.shared.u32 [s+4], 1;\nret;";
  EXPECT_EQ(place_in(load_is_one_threads), "before 2");
  EXPECT_EQ(place_in("@!%p0 bra ON;\nst.shared.u32 [s], 1;\nON:\nmov.u32 %r2, 0;\nmov.u32 %r4, 0;\n"
                     "ld.shared.u32 %r3, [s];\nret;"),
            "before 6");
  // Both are in it: no place that all come to lies between.
  const char* both = "@!%p0 bra END;\nst.shared.u32 [s], 1;\nld.shared.u32 %r3, [s];\nEND:\n"
                     "mov.u32 %r4, 0;\nret;";
  EXPECT_EQ(place_in(both), "");
  EXPECT_EQ(place_in(both, Together::warp), "");
  EXPECT_EQ(place_in(both, Together::thread), "before 3");
}

// Whole warps go one way: their lanes are together there.
TEST(MeetingPlaces, OfTheWarpWhereWarpsDiffer) {
  for (const char* condition : {"setp.lt.u32 %p2, %r0, 32;", "setp.gt.u32 %p2, %r0, 31;",
                                "shr.u32 %r5, %r0, 5;\nsetp.eq.u32 %p2, %r5, 1;"}) {
    const std::string body = std::string(condition) + "\n@!%p2 bra END;\nst.shared.u32 [s], 1;\n" +
                             "ld.shared.u32 %r3, [s];\nEND:\nmov.u32 %r4, 0;\nret;";
    EXPECT_NE(place_in(body, Together::warp), "") << condition;
    EXPECT_EQ(place_in(body), "") << condition;
  }
  EXPECT_EQ(place_in("setp.lt.u32 %p2, %r0, 48;\n@!%p2 bra END;\nst.shared.u32 [s], 1;\n"
                     "ld.shared.u32 %r3, [s];\nEND:\nmov.u32 %r4, 0;\nret;",
                     Together::warp),
            "");
}

// CTAs differ: that is nothing to a barrier of one of them.
TEST(MeetingPlaces, OfTheClusterOutsideOfWhatDividesIt) {
  const char* body =
      "@!%p1 bra END;\nst.shared.u32 [s], 1;\nld.shared.u32 %r3, [s];\nEND:\nmov.u32 %r4, 0;\nret;";
  EXPECT_EQ(place_in(body), "before 3");
  EXPECT_EQ(place_in(body, Together::cluster), "");
}

// What divided code writes differs behind it.
TEST(MeetingPlaces, WhatDividedCodeWritesDivides) {
  EXPECT_EQ(
      place_in("mov.u32 %r5, 0;\n@%p0 bra SET;\nbra ON;\nSET:\nmov.u32 %r5, 1;\nON:\n"
               "setp.eq.u32 %p2, %r5, 0;\n@%p2 bra END;\nst.shared.u32 [s], 1;\nld.shared.u32 %r3, [s];\n"
               "END:\nmov.u32 %r4, 0;\nret;"),
      "");
}

TEST(MeetingPlaces, OutsideOfTheSecondsLoop) {
  EXPECT_EQ(place_in("st.shared.u32 [s], 1;\nmov.u32 %r2, 0;\nLOOP:\nld.shared.u32 %r3, [s];\n"
                     "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 9;\n@%p2 bra LOOP;\nret;"),
            "behind 2");
}

// Round a loop the second comes before the first in the text.
TEST(MeetingPlaces, RoundALoop) {
  EXPECT_EQ(place_in("mov.u32 %r2, 0;\nLOOP:\nld.shared.u32 %r3, [s];\nbar.sync 0;\nst.shared.u32 [s], 1;\n"
                     "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p2, %r2, 9;\n@%p2 bra LOOP;\nret;"),
            "before 3");
}

// A text may be hostile.
TEST(MeetingPlaces, NoneInAFunctionOfVeryManyBlocks) {
  std::string body = "st.shared.u32 [s], 1;\n";
  for (int i = 0; i < 3000; ++i)
    body += fmt::format("@%p0 bra L{0};\nmov.u32 %r2, {0};\nL{0}:\n", i);
  EXPECT_EQ(place_in(body + "ld.shared.u32 %r3, [s];\nret;"), "not known");
}

// An early exit divides nobody who is left.
TEST(MeetingPlaces, BehindAnExitIfThereIsNothingBetter) {
  EXPECT_EQ(
      place_in("@%p0 bra END;\nst.shared.u32 [s], 1;\nmov.u32 %r2, 0;\nld.shared.u32 %r3, [s];\nEND:\nret;"),
      "before 4");
}

} // namespace
} // namespace lemma::check
