// One launch in many schedules: include/lemma/c/explore.h.
#include "c_test.h"

namespace lemma {
namespace {

const lemma_error* run_last(void* user, uint64_t schedule, uint64_t share, lemma_schedule_run* run) {
  if (user && schedule == 3)
    return lemma_error_create(LEMMA_ERROR_UNSUPPORTED, "not schedule 3");
  lemma_device_options options = LEMMA_SIZED(lemma_device_options);
  options.max_memory_bytes = (uint64_t{64} << 20) / share;
  lemma_device* device = nullptr;
  lemma_module* module = nullptr;
  uint64_t data = 0;
  EXPECT_OK(lemma_device_open("cpu", &options, &device));
  EXPECT_OK(lemma_module_load(device, kLastWins, std::strlen(kLastWins), nullptr, &module));
  EXPECT_OK(lemma_allocate(device, 4, nullptr, &data));
  lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
  config.grid[0] = 4;
  config.schedule = schedule;
  config.workers = 1;
  const lemma_bytes argument = bytes_of(data);
  const lemma_report* report = nullptr;
  EXPECT_OK(lemma_launch(module, nullptr, &config, &argument, 1, &report));
  EXPECT_OK(lemma_schedule_run_set_report(run, report, "last"));
  uint32_t last = 0;
  EXPECT_OK(lemma_copy_from_device(device, &last, data, 4));
  EXPECT_OK(lemma_schedule_run_add_output(run, &last, 4));
  lemma_report_release(report);
  lemma_module_unload(module);
  lemma_device_close(device);
  return nullptr;
}

TEST(CExplore, FindsWhatDependsOnOrder) {
  lemma_explore_options options = LEMMA_SIZED(lemma_explore_options);
  options.run = run_last;
  options.schedules = 12;
  const lemma_exploration* explored = nullptr;
  ASSERT_OK(lemma_explore(&options, &explored));
  ASSERT_EQ(explored->schedule_count, 12u);
  ASSERT_TRUE(explored->first_unlike);
  const lemma_explored_schedule& unlike = *explored->schedules[*explored->first_unlike];
  EXPECT_EQ(unlike.outcome, LEMMA_OUTCOME_FINISHED);
  ASSERT_TRUE(unlike.difference);
  EXPECT_EQ(unlike.difference->offset, 0u);
  EXPECT_EQ(unlike.difference->bytes, 1u);
  lemma_exploration_release(explored);
  const lemma_text* text = lemma_schedule_text(5);
  EXPECT_GT(text->size, 0u);
  lemma_text_release(text);
}

// Findings of all schedules, one with a name that a suppression knows.
TEST(CExplore, FindingsAreSuppressed) {
  lemma_explore_options options = LEMMA_SIZED(lemma_explore_options);
  options.schedules = 3;
  options.kernel = "last";
  options.run = [](void*, uint64_t schedule, uint64_t, lemma_schedule_run* run) -> const lemma_error* {
    const Loaded gpu(kLastWins);
    const uint64_t data = gpu.allocate(4);
    const lemma_bytes argument = bytes_of(data);
    lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
    config.grid[0] = 2;
    config.schedule = schedule;
    config.check = true;
    const lemma_report* report = nullptr;
    EXPECT_OK(lemma_launch(gpu.module, nullptr, &config, &argument, 1, &report));
    EXPECT_OK(lemma_schedule_run_set_report(run, report, "last"));
    lemma_report_release(report);
    return nullptr;
  };
  const lemma_exploration* explored = nullptr;
  ASSERT_OK(lemma_explore(&options, &explored));
  ASSERT_EQ(explored->finding_count, 1u);
  lemma_findings* findings = nullptr;
  lemma_suppressions* known = nullptr;
  const lemma_findings_info* info = nullptr;
  ASSERT_OK(lemma_findings_create(&findings));
  ASSERT_OK(lemma_findings_add_explored(findings, explored));
  lemma_exploration_release(explored);
  ASSERT_OK(lemma_findings_describe(findings, &info));
  ASSERT_EQ(info->finding_count, 1u);
  EXPECT_EQ(info->findings[0]->schedules, 3u);
  constexpr char kKnown[] = "race.global last # the last one wins\n";
  ASSERT_OK(lemma_suppressions_parse(kKnown, sizeof kKnown - 1, "known.txt", &known));
  ASSERT_OK(lemma_findings_suppress(findings, known));
  ASSERT_OK(lemma_findings_describe(findings, &info));
  EXPECT_EQ(info->suppressed, 1u);
  EXPECT_STREQ(info->text, "");
  lemma_findings_release(findings);
  lemma_suppressions_release(known);
}

TEST(CExplore, EndsWithTheErrorOfARun) {
  lemma_explore_options options = LEMMA_SIZED(lemma_explore_options);
  options.run = run_last;
  options.user = &options;
  const lemma_exploration* explored = nullptr;
  const lemma_error* error = lemma_explore(&options, &explored);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->kind, LEMMA_ERROR_UNSUPPORTED);
  EXPECT_STREQ(error->text, "not schedule 3");
  lemma_error_release(error);
  options.run = [](void*, uint64_t, uint64_t, lemma_schedule_run*) -> const lemma_error* { return nullptr; };
  EXPECT_EQ(said(lemma_explore(&options, &explored)), "lemma_explore: run() has set no report");
}

} // namespace
} // namespace lemma
