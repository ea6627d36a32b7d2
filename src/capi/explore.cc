// include/lemma/c/explore.h.
#include "lemma/explore.h"

#include "capi/handles.h"
#include "capi/messages.h"
#include "capi/report.h"

namespace lemma::capi {

static const lemma_explored_schedule* to_c(Arena& arena, const ExploredSchedule& explored) {
  auto* made = arena.make<lemma_explored_schedule>();
  made->schedule = explored.schedule;
  made->outcome = to_c(explored.outcome);
  made->fault = explored.fault ? to_c(arena, *explored.fault) : nullptr;
  if (const auto& difference = explored.difference)
    made->difference = arena.make<lemma_output_difference>(
        {.output = difference->output, .offset = difference->offset, .bytes = difference->bytes});
  made->has_new_finding = explored.has_new_finding;
  return made;
}

} // namespace lemma::capi

using namespace lemma::capi;

struct lemma_schedule_run {
  lemma::ScheduleRun run;
  bool has_report = false;
};

namespace lemma::capi {
namespace {

// The caller's run(), whose error ends the exploration: it is passed on as it is.
class Runner {
public:
  explicit Runner(const lemma_explore_options& options) : options_(options) {}
  ~Runner() { lemma_error_release(failed_); }

  Result<ScheduleRun, Error> operator()(uint64_t schedule, uint64_t share) {
    lemma_schedule_run run{};
    if (const lemma_error* error = options_.run(options_.user, schedule, share, &run)) {
      Error copy{.kind = to_cpp(error->kind), .text = error->text, .messages = {}};
      const std::lock_guard lock(mutex_);
      lemma_error_release(failed_);
      failed_ = error;
      return fail(std::move(copy));
    }
    if (!run.has_report)
      return fail(Error{.kind = ErrorKind::invalid_argument,
                        .text = "lemma_explore: run() has set no report",
                        .messages = {}});
    return std::move(run.run);
  }

  // Of a Result whose error is that of some run.
  template <class T>
  T take(Result<T, Error> result) {
    if (!result && failed_ && result.error().text == failed_->text)
      throw ForeignFailure{std::exchange(failed_, nullptr)};
    return unwrap(std::move(result));
  }

private:
  const lemma_explore_options& options_;
  std::mutex mutex_; // of `failed_`
  const lemma_error* failed_ = nullptr;
};

} // namespace
} // namespace lemma::capi

const lemma_text* lemma_schedule_text(uint64_t schedule) {
  return or_null([&] { return text_tree(lemma::schedule_text(schedule)); });
}

const lemma_error* lemma_schedule_run_set_report(lemma_schedule_run* run, const lemma_report* report,
                                                 const char* kernel) {
  return guarded([&] {
    const auto& held = static_cast<const HeldReport&>(given(report, "lemma_schedule_run_set_report: report"));
    given(run, "lemma_schedule_run_set_report: run").run.report = held.report;
    run->run.kernel = text_or(kernel, "");
    run->has_report = true;
  });
}

const lemma_error* lemma_schedule_run_add_output(lemma_schedule_run* run, const void* data,
                                                 size_t size_bytes) {
  return guarded([&] {
    if (size_bytes > 0)
      given(static_cast<const char*>(data), "lemma_schedule_run_add_output: data");
    const auto* bytes = static_cast<const std::byte*>(data);
    given(run, "lemma_schedule_run_add_output: run").run.outputs.emplace_back(bytes, bytes + size_bytes);
  });
}

void lemma_exploration_release(const lemma_exploration* exploration) {
  delete static_cast<const HeldExploration*>(exploration);
}

const lemma_error* lemma_explore(const lemma_explore_options* options,
                                 const lemma_exploration** exploration) {
  return guarded([&] {
    const lemma_exploration*& out = given(exploration, "lemma_explore: exploration");
    const lemma_explore_options wanted = taken(options, "lemma_explore: options");
    given(wanted.run, "lemma_explore: options->run");
    Runner runner(wanted);
    const lemma::ExploreOptions how{.kernel = text_or(wanted.kernel, ""),
                                    .ptx = text_or(wanted.ptx, ""),
                                    .schedules = wanted.schedules ? wanted.schedules : 8,
                                    .workers = wanted.workers,
                                    .stop = wanted.stop ? &wanted.stop->requested : nullptr};
    const lemma::ScheduleRun first = runner.take(runner(0, 1));
    const lemma::Exploration found = runner.take(lemma::explore(how, first, std::ref(runner)));
    auto tree = std::make_unique<HeldExploration>();
    list(tree->arena, found.schedules, tree->schedule_count, tree->schedules);
    list_findings(tree->arena, found.findings, tree->finding_count, tree->findings);
    tree->float_atomics = found.float_atomics;
    tree->first_unlike = tree->arena.optional(found.first_unlike);
    tree->text = tree->arena.text(lemma::to_text(found.findings));
    tree->held = found.findings;
    out = tree.release();
  });
}
