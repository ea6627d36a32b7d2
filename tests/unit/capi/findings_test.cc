// Findings of several launches, suppressions: include/lemma/c/findings.h.
#include "c_test.h"

namespace lemma {
namespace {

TEST(CFindings, OfLaunchesArePutTogether) {
  const Loaded gpu(kLastWins);
  const uint64_t data = gpu.allocate(4);
  const lemma_bytes argument = bytes_of(data);
  lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
  config.grid[0] = 2;
  config.check = true;
  lemma_findings* findings = nullptr;
  ASSERT_OK(lemma_findings_create(&findings));
  const lemma_findings_info* info = nullptr;
  for (uint64_t round = 1; round <= 2; ++round) {
    const lemma_report* report = nullptr;
    ASSERT_OK(lemma_launch(gpu.module, nullptr, &config, &argument, 1, &report));
    EXPECT_NE(std::string(report->text).find("race.global"), std::string::npos);
    const lemma_access& access = *report->findings[0]->access;
    ASSERT_TRUE(access.address);
    EXPECT_EQ(*access.address, data);
    EXPECT_EQ(std::string(access.value).size(), 10u) << access.value;
    char wanted[100];
    std::snprintf(wanted, sizeof wanted, "writes 4 bytes at 0x%llx: %s",
                  static_cast<unsigned long long>(data), access.value);
    EXPECT_STREQ(access.text, wanted);
    ASSERT_TRUE(report->findings[0]->earlier);
    EXPECT_EQ(*report->findings[0]->earlier->address, data);
    EXPECT_OK(lemma_findings_add(findings, report));
    lemma_report_release(report);
    ASSERT_OK(lemma_findings_describe(findings, &info));
    ASSERT_EQ(info->finding_count, 1u);
    EXPECT_EQ(info->findings[0]->count, round);
    EXPECT_EQ(info->errors, 1u);
    EXPECT_STREQ(info->summary, "1 finding");
  }

  lemma_suppressions* suppressions = nullptr;
  constexpr char kSuppressions[] = "race.global last  # the last one wins\nasync.* # never\n";
  ASSERT_OK(lemma_suppressions_parse(kSuppressions, sizeof kSuppressions - 1, "known.txt", &suppressions));
  EXPECT_OK(lemma_findings_suppress(findings, suppressions));
  ASSERT_OK(lemma_findings_describe(findings, &info));
  EXPECT_EQ(info->suppressed, 1u);
  EXPECT_TRUE(info->findings[0]->suppressed);
  EXPECT_STREQ(info->findings[0]->suppressed_because, "the last one wins");
  EXPECT_STREQ(info->text, "");
  const lemma_suppressions_info* known = nullptr;
  ASSERT_OK(lemma_suppressions_describe(suppressions, &known));
  EXPECT_STREQ(known->name, "known.txt");
  ASSERT_EQ(known->entry_count, 2u);
  EXPECT_EQ(known->entries[0]->used, 1u);
  EXPECT_STREQ(known->entries[0]->function, "last");
  ASSERT_EQ(known->unused_count, 1u);
  EXPECT_EQ(known->unused[0]->line, 2u);
  lemma_findings_release(findings);
  lemma_suppressions_release(suppressions);
}

TEST(CFindings, KindsAreListed) {
  const lemma_finding_kinds* kinds = lemma_list_finding_kinds();
  ASSERT_TRUE(kinds);
  EXPECT_GT(kinds->count, 20u);
  EXPECT_EQ(kinds, lemma_list_finding_kinds());
  EXPECT_GT(std::strlen(kinds->items[0]->summary), 5u);
}

TEST(CFindings, AWrongSuppressionIsNamed) {
  lemma_suppressions* suppressions = nullptr;
  const lemma_error* error = lemma_suppressions_parse("race.global", 11, "known.txt", &suppressions);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, LEMMA_ERROR_REJECTED);
  EXPECT_EQ(error->message_count, 1u);
  lemma_error_release(error);
}

} // namespace
} // namespace lemma
