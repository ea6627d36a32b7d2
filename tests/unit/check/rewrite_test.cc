// What the repairs of findings change where it stands: operands, declarations, instructions that move or go.
#include "findings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace lemma::check {
namespace {

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  const size_t first = text.find_first_not_of(' ');
  return first == text.npos ? "" : text.substr(first, text.find_last_not_of(' ') + 1 - first);
}

// "64 for 96" or "before bar.sync 0;: st.shared.u32 [%a], %t;", those of a list with ", " between, lists a
// line each: of the first finding of that id.
std::string repairs_of(const std::string& id, const std::string& body, uint32_t threads) {
  std::string fault;
  for (const Finding& finding : all_findings_of(kernel(body), threads, 1, AsyncMode::eager, fault)) {
    if (finding.id != id)
      continue;
    std::string text;
    const auto add = [&](const std::vector<FindingRepair>& repairs) {
      std::vector<std::string> each;
      for (const FindingRepair& repair : repairs)
        each.push_back(repair.where == FindingRepair::Where::instead
                           ? fmt::format("{} for {}", repair.edit.text.empty() ? "nothing" : repair.edit.text,
                                         repair.replaced)
                           : fmt::format("{} {}: {}", to_string(repair.where), repair.place.instruction,
                                         one_line(repair.edit.text)));
      text += fmt::format("{}\n", fmt::join(each, ", "));
    };
    add(finding.repairs);
    for (const std::vector<FindingRepair>& other : finding.alternatives)
      add(other);
    return text;
  }
  return "no " + id;
}

TEST(Rewrite, ACountIsThatOfThoseWhoCome) {
  EXPECT_EQ(repairs_of("barrier.count", "bar.sync 1, 96;", 64), "64 for 96\n");
  EXPECT_EQ(repairs_of("barrier.count", "bar.sync 1, 64;", 128), "128 for 64\n");
  // ... where it is said: by the mov, if nobody else reads the register.
  EXPECT_EQ(repairs_of("barrier.count", "mov.u32 %r1, 96;\nbar.sync 1, %r1;", 64), "64 for 96\n");
  EXPECT_EQ(repairs_of("barrier.count", "mov.u32 %r1, 96;\nbar.sync 1, %r1;\nadd.u32 %r2, %r1, 1;", 64),
            "64 for %r1\n");
  // Two say it: nobody knows which.
  EXPECT_EQ(repairs_of("barrier.count", "mov.u32 %r1, 96;\n@%p mov.u32 %r1, 96;\nbar.sync 1, %r1;", 64),
            "\n");
}

TEST(Rewrite, AnotherBarrierForOneOfTwoMeetings) {
  EXPECT_EQ(repairs_of("barrier.id",
                       "setp.lt.u32 %q, %t, 64;\n@%q bar.sync 1, 64;\nand.b32 %r1, %t, 32;\n"
                       "setp.eq.u32 %q, %r1, 0;\n@%q bar.sync 1, 64;",
                       128),
            "15 for 1\n15 for 1\n"); // the one, or the other
}

TEST(Rewrite, AnMbarrierExpectsWhatComes) {
  const auto with_count = [](int count) {
    return fmt::format("@%p mbarrier.init.shared.b64 [%m], {};\nbar.sync 0;\n"
                       "mbarrier.arrive.shared.b64 %state, [%m];\nWAIT:\n"
                       "mbarrier.try_wait.shared.b64 %q, [%m], %state;\n@!%q bra WAIT;",
                       count);
  };
  EXPECT_EQ(repairs_of("mbarrier.count", with_count(48), 32), "32 for 48\n");
}

TEST(Rewrite, AnInstructionLeavesDividedCode) {
  const std::string body = "setp.lt.u32 %q, %t, 16;\n@!%q bra END;\nbar.warp.sync -1;\nEND:\nbar.sync 0;";
  EXPECT_EQ(repairs_of("warp.mask", body, 32),
            "nothing for bar.warp.sync -1;, before bar.sync 0;: bar.warp.sync -1;\n"
            "before @!%q bra END;: bar.warp.sync -1;, nothing for bar.warp.sync -1;\n"
            "65535 for -1\n");
}

// Not over what uses its result, nor out of where its registers are known.
TEST(Rewrite, AnInstructionStaysWhereItsRegistersAre) {
  const std::string head = "setp.lt.u32 %q, %t, 16;\n@!%q bra END;\n", tail = "END:\nbar.sync 0;";
  EXPECT_EQ(repairs_of("warp.mask",
                       head + "shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\nadd.u32 %r2, %r1, 1;\n" + tail, 32),
            "before @!%q bra END;: shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;, "
            "nothing for shfl.sync.bfly.b32 %r1, %t, 1, 31, -1;\n65535 for -1\n");
  EXPECT_EQ(repairs_of("warp.mask",
                       head + "{ .reg .b32 own;\nshfl.sync.bfly.b32 own, %t, 1, 31, -1; }\n" + tail, 32),
            "65535 for -1\n");
}

TEST(Rewrite, AVariableIsAsLargeAsItIsUsed) {
  EXPECT_EQ(repairs_of("memory.bounds", "add.u32 %r1, %a, 3848;\nst.shared.u32 [%r1], %t;", 64),
            "4104 for 4096\n");
}

TEST(Rewrite, AnMbarrierIsReadByItsInstructionsAlone) {
  const auto read = [](const char* more) {
    return std::string("@%p mbarrier.init.shared.b64 [%m], 1;\nbar.sync 0;\nld.shared.u32 %r1, [%m];\n") +
           more;
  };
  EXPECT_EQ(repairs_of("mbarrier.plain", read(""), 32), "nothing for ld.shared.u32 %r1, [%m];\n");
  EXPECT_EQ(repairs_of("mbarrier.plain", read("st.shared.u32 [%a], %r1;"), 32), "\n");
}

} // namespace
} // namespace lemma::check
