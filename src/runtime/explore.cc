// Schedules are taken from a counter by host threads. Results are put together in the order of their numbers,
// so that what is reported does not depend on which ended first. See include/lemma/explore.h.
#include "lemma/explore.h"

#include "support/processors.h"
#include "support/worker_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace lemma {
namespace {

std::optional<OutputDifference> compare(const ScheduleRun& first, const ScheduleRun& other) {
  for (size_t i = 0; i < first.outputs.size() && i < other.outputs.size(); ++i) {
    const std::vector<std::byte>&a = first.outputs[i], &b = other.outputs[i];
    const auto [at, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
    if (at == a.end() && in_b == b.end())
      continue;
    OutputDifference difference{.output = i, .offset = static_cast<uint64_t>(at - a.begin())};
    const size_t both = std::min(a.size(), b.size());
    for (size_t j = difference.offset; j < both; ++j)
      difference.bytes += a[j] != b[j];
    difference.bytes += std::max(a.size(), b.size()) - both;
    return difference;
  }
  return std::nullopt;
}

// Of which less memory may be the cause.
bool may_lack_memory(const Result<ScheduleRun, Error>& run) {
  if (!run)
    return run.error().kind == ErrorKind::out_of_memory;
  const std::optional<Fault>& fault = run->report.fault;
  return fault && (fault->kind == FaultKind::out_of_memory || fault->kind == FaultKind::deadlock);
}

// What is kept of a schedule: its outputs are compared and go.
struct Kept {
  ExploredSchedule explored;
  std::vector<Finding> findings;
  bool float_atomics = false;
};

bool same_fault(const std::optional<Fault>& a, const std::optional<Fault>& b) {
  return a.has_value() == b.has_value() &&
         (!a || (a->kind == b->kind && a->place.ptx_line == b->place.ptx_line));
}

Finding finding_of(const Fault& fault, const ExploreOptions& options, uint64_t schedule,
                   const ScheduleRun& run) {
  Finding made;
  made.id = fault.id;
  if (made.id.empty()) {
    made.id = fmt::format("fault.{}", to_string(fault.kind));
    std::replace(made.id.begin(), made.id.end(), ' ', '-');
  }
  made.message = fault.message;
  made.access = {.place = fault.place,
                 .cta = fault.cta,
                 .warp = fault.warp,
                 .lane = fault.lane,
                 .what = std::string(to_string(fault.kind))};
  made.count = 1;
  made.kernel = run.kernel.empty() ? options.kernel : run.kernel;
  made.ptx = options.ptx;
  made.rendered = fmt::format("lemma: schedule {} ({}) ends with a fault:\n{}", schedule,
                              schedule_text(schedule), run.report.rendered);
  return made;
}

Kept keep(const ExploreOptions& options, uint64_t schedule, const ScheduleRun& first,
          const ScheduleRun& run) {
  Kept kept;
  kept.explored = {.schedule = schedule, .outcome = run.report.outcome, .fault = run.report.fault};
  if (schedule != 0 && first.report.ok() && run.report.ok())
    kept.explored.difference = compare(first, run);
  kept.findings = run.report.findings;
  if (run.report.fault && run.report.outcome != Outcome::stopped &&
      !same_fault(run.report.fault, first.report.fault))
    kept.findings.push_back(finding_of(*run.report.fault, options, schedule, run));
  kept.float_atomics = run.report.float_atomics;
  return kept;
}

void add(Exploration& all, const Kept& kept) {
  for (Finding finding : kept.findings) {
    finding.schedule = kept.explored.schedule;
    finding.schedules = 1;
    const size_t known = all.findings.size();
    merge(all.findings, {&finding, 1});
    if (all.findings.size() > known && !finding.is_note && !finding.suppressed && kept.explored.schedule != 0)
      all.schedules.back().has_new_finding = true;
  }
}

} // namespace

Result<Exploration, Error>
explore(const ExploreOptions& options, const ScheduleRun& first,
        const std::function<Result<ScheduleRun, Error>(uint64_t schedule, uint64_t share)>& run) {
  std::map<uint64_t, Kept> done;
  std::vector<uint64_t> again; // with all of the memory
  std::optional<Error> error;
  std::mutex mutex; // of these
  const uint64_t wanted = options.workers ? options.workers : usable_processors();
  std::vector<uint64_t> schedules = options.only;
  for (uint64_t schedule = 1; options.only.empty() && schedule < options.schedules; ++schedule)
    schedules.push_back(schedule);
  const uint64_t workers = std::clamp<uint64_t>(schedules.size(), 1, wanted);
  std::atomic<size_t> next{0};
  const auto run_one = [&](uint64_t schedule, uint64_t share) {
    Result<ScheduleRun, Error> result = run(schedule, share);
    const std::lock_guard lock(mutex);
    if (share > 1 && may_lack_memory(result))
      again.push_back(schedule);
    else if (result)
      done.emplace(schedule, keep(options, schedule, first, *result));
    else if (!error)
      error = std::move(result).error();
  };
  const auto goes_on = [&] {
    const std::lock_guard lock(mutex);
    return !error && !(options.stop && options.stop->load());
  };
  done.emplace(0, keep(options, 0, first, first));
  run_on_workers(workers - 1, [&] {
    for (size_t i = 0; goes_on() && (i = next++) < schedules.size();)
      run_one(schedules[i], workers);
  });
  for (const uint64_t schedule : std::exchange(again, {}))
    if (goes_on())
      run_one(schedule, 1);
  if (error)
    return fail(*std::move(error));
  Exploration all;
  for (const auto& [schedule, kept] : done) {
    all.schedules.push_back(kept.explored);
    all.float_atomics |= kept.float_atomics;
    add(all, kept);
    const ExploredSchedule& explored = all.schedules.back();
    const bool unlike = explored.has_new_finding || !same_fault(explored.fault, first.report.fault) ||
                        (explored.difference && !all.float_atomics);
    if (unlike && !all.first_unlike && explored.outcome != Outcome::stopped)
      all.first_unlike = schedule;
  }
  return all;
}

} // namespace lemma
