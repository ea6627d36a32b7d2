// What explore() makes of the runs of schedules: merged, compared, in their order. The runs are made up here;
// real ones: tests/cli/explore_cli_test.py.
#include "lemma/explore.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>

namespace lemma {
namespace {

Finding finding(const char* id) {
  Finding made;
  made.id = id;
  made.count = 2;
  return made;
}

ScheduleRun run_with(std::vector<std::byte> output) {
  ScheduleRun run;
  run.outputs.push_back(std::move(output));
  return run;
}

const std::vector<std::byte> kBytes(8, std::byte{1});

void fault(ScheduleRun& run, FaultKind kind) {
  run.report.outcome = Outcome::fault;
  run.report.fault.emplace().kind = kind;
}

TEST(Explore, RunsEachScheduleOnce) {
  std::mutex mutex;
  std::set<uint64_t> ran;
  const auto all =
      explore({.schedules = 20, .workers = 3}, run_with(kBytes), [&](uint64_t schedule, uint64_t) {
        const std::lock_guard lock(mutex);
        EXPECT_TRUE(ran.insert(schedule).second);
        return Result<ScheduleRun, Error>(run_with(kBytes));
      });
  ASSERT_TRUE(all);
  EXPECT_EQ(ran.size(), 19u);
  EXPECT_FALSE(ran.contains(0));
  EXPECT_EQ(all->schedules.size(), 20u);
  EXPECT_EQ(all->first_unlike, std::nullopt);
}

TEST(Explore, MergesFindingsAndSaysWhichAreNew) {
  ScheduleRun first = run_with(kBytes);
  first.report.findings = {finding("known")};
  const auto all = explore({.schedules = 6, .workers = 2}, first, [&](uint64_t schedule, uint64_t) {
    ScheduleRun run = first;
    if (schedule >= 2)
      run.report.findings.push_back(finding("note"));
    run.report.findings.back().is_note = schedule >= 2;
    if (schedule >= 4)
      run.report.findings.push_back(finding("new"));
    return Result<ScheduleRun, Error>(run);
  });
  ASSERT_TRUE(all);
  ASSERT_EQ(all->findings.size(), 3u);
  EXPECT_EQ(all->findings[0].count, 12u);
  EXPECT_EQ(all->findings[0].schedules, 6u);
  EXPECT_EQ(all->findings[2].schedule, 4u);
  EXPECT_EQ(all->findings[2].schedules, 2u);
  EXPECT_EQ(all->first_unlike, 4u);
}

TEST(Explore, OutputsOfOtherLengthsDiffer) {
  const auto all = explore({.schedules = 3, .workers = 1}, run_with(kBytes), [](uint64_t schedule, uint64_t) {
    return Result<ScheduleRun, Error>(run_with(std::vector(schedule == 1 ? 10 : 6, std::byte{1})));
  });
  ASSERT_TRUE(all);
  const std::optional<OutputDifference>&longer = all->schedules[1].difference,
        &shorter = all->schedules[2].difference;
  ASSERT_TRUE(longer && shorter);
  EXPECT_EQ(longer->offset, 8u);
  EXPECT_EQ(longer->bytes, 2u);
  EXPECT_EQ(shorter->offset, 6u);
  EXPECT_EQ(shorter->bytes, 2u);
}

TEST(Explore, AFaultIsOfTheKernelThatTheRunNames) {
  const auto all = explore({.kernel = "usual", .schedules = 3, .workers = 1}, run_with(kBytes),
                           [](uint64_t schedule, uint64_t) {
                             ScheduleRun run;
                             fault(run, schedule == 1 ? FaultKind::trap : FaultKind::assertion);
                             run.kernel = schedule == 1 ? "other" : "";
                             return Result<ScheduleRun, Error>(run);
                           });
  ASSERT_TRUE(all);
  ASSERT_EQ(all->findings.size(), 2u);
  EXPECT_EQ(all->findings[0].kernel, "other");
  EXPECT_EQ(all->findings[1].kernel, "usual");
}

TEST(Explore, ComparesOutputs) {
  const auto explored = [](bool float_atomics) {
    return explore({.schedules = 4, .workers = 1}, run_with(kBytes), [=](uint64_t schedule, uint64_t) {
      ScheduleRun run = run_with(kBytes);
      if (schedule == 3)
        run.outputs[0][5] = run.outputs[0][6] = std::byte{2};
      run.report.float_atomics = float_atomics;
      return Result<ScheduleRun, Error>(run);
    });
  };
  const auto all = explored(false);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->first_unlike, 3u);
  ASSERT_TRUE(all->schedules[3].difference);
  EXPECT_EQ(all->schedules[3].difference->offset, 5u);
  EXPECT_EQ(all->schedules[3].difference->bytes, 2u);
  const auto sums = explored(true);
  ASSERT_TRUE(sums);
  EXPECT_TRUE(sums->float_atomics);
  EXPECT_EQ(sums->first_unlike, std::nullopt);
  EXPECT_TRUE(sums->schedules[3].difference);
}

TEST(Explore, TellsFaultsThatTheFirstLacks) {
  const auto all = explore({.schedules = 4, .workers = 1}, run_with(kBytes), [](uint64_t schedule, uint64_t) {
    ScheduleRun run = run_with({});
    if (schedule == 2)
      fault(run, FaultKind::trap);
    else
      run.outputs[0] = kBytes;
    return Result<ScheduleRun, Error>(run);
  });
  ASSERT_TRUE(all);
  EXPECT_EQ(all->first_unlike, 2u);
  EXPECT_FALSE(all->schedules[2].difference);
  ASSERT_EQ(all->findings.size(), 1u);
  EXPECT_EQ(all->findings[0].id, "fault.trap");
  EXPECT_EQ(all->findings[0].schedule, 2u);
}

// Of four host threads each has a quarter of the memory.
TEST(Explore, RunsWhatLackedMemoryAgain) {
  std::atomic<int> alone{0};
  const auto all =
      explore({.schedules = 9, .workers = 4}, run_with(kBytes),
              [&](uint64_t schedule, uint64_t share) -> Result<ScheduleRun, Error> {
                alone += share == 1;
                ScheduleRun run = run_with(kBytes);
                if (share > 1 && schedule == 3)
                  fault(run, FaultKind::deadlock);
                if (share > 1 && schedule == 5)
                  return fail(Error{.kind = ErrorKind::out_of_memory, .text = "", .messages = {}});
                return run;
              });
  ASSERT_TRUE(all);
  EXPECT_EQ(alone, 2);
  EXPECT_EQ(all->first_unlike, std::nullopt);
  EXPECT_EQ(all->schedules.size(), 9u);
}

TEST(Explore, EndsWithTheFirstError) {
  const auto all = explore({.schedules = 100, .workers = 2}, run_with(kBytes),
                           [&](uint64_t, uint64_t) -> Result<ScheduleRun, Error> {
                             return fail(Error{.kind = ErrorKind::internal, .text = "no", .messages = {}});
                           });
  ASSERT_FALSE(all);
  EXPECT_EQ(all.error().text, "no");
}

TEST(Explore, Stops) {
  const std::atomic<bool> stop{true};
  const auto all = explore({.schedules = 100, .stop = &stop}, run_with(kBytes),
                           [&](uint64_t, uint64_t) { return Result<ScheduleRun, Error>(run_with(kBytes)); });
  ASSERT_TRUE(all);
  EXPECT_EQ(all->schedules.size(), 1u);
}

} // namespace
} // namespace lemma
