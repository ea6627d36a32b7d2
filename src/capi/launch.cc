// include/lemma/c/launch.h.
#include "capi/handles.h"
#include "capi/messages.h"
#include "capi/observer.h"
#include "lemma/engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>

namespace lemma::capi {
namespace {

// Zero is the default, which is 1.
Dim3 extents(const uint32_t given[3]) {
  return {std::max(given[0], 1u), std::max(given[1], 1u), std::max(given[2], 1u)};
}

Engine engine_of(lemma_engine given) {
  switch (given) {
  case LEMMA_ENGINE_DEFAULT:
    return unwrap(engine_of_environment());
  case LEMMA_ENGINE_AUTO:
    return Engine::automatic;
  case LEMMA_ENGINE_INTERPRETER:
    return Engine::interpreter;
  case LEMMA_ENGINE_COMPILED:
    return Engine::compiled;
  }
  invalid(fmt::format("there is no lemma_engine {}", static_cast<int>(given)));
}

} // namespace

std::vector<Argument> arguments_of(const lemma_bytes* arguments, size_t count, const char* function) {
  if (count > 0 && !arguments)
    invalid(fmt::format("{}: arguments is null", function));
  std::vector<Argument> made;
  made.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    if (!arguments[i].data && arguments[i].size > 0)
      invalid(fmt::format("{}: argument {} is null", function, i));
    made.push_back(
        Argument::from_bytes({static_cast<const std::byte*>(arguments[i].data), arguments[i].size}));
  }
  return made;
}

HeldConfig launch_config(const lemma_launch_config* given) {
  const lemma_launch_config from = taken(given, "lemma_launch_config");
  LaunchConfig config{.grid = extents(from.grid),
                      .block = extents(from.block),
                      .cluster = {from.cluster[0], from.cluster[1], from.cluster[2]},
                      .shared_bytes = from.shared_bytes,
                      .cooperative = from.cooperative,
                      .programmatic = from.programmatic,
                      .seed = from.seed,
                      .deterministic = from.deterministic,
                      .async = to_cpp(from.async),
                      .max_instructions = from.max_instructions,
                      .schedule = from.schedule,
                      .elect = from.elect_any ? Elect::any : Elect::lowest,
                      .engine = engine_of(from.engine),
                      .on_fault = to_cpp(from.on_fault),
                      .check = from.check,
                      .check_ctas = from.check_ctas,
                      .count_accesses = from.count_accesses,
                      .fidelity = from.fidelity,
                      .workers = from.workers,
                      .stop = from.stop ? &from.stop->requested : nullptr};
  if (from.print)
    config.print = [print = from.print, user = from.user](std::string_view text) {
      print(user, text.data(), text.size());
    };
  if (from.progress)
    config.progress = [progress = from.progress, user = from.user](uint64_t done, uint64_t total) {
      progress(user, done, total);
    };
  std::unique_ptr<LaunchObserver> observer = observer_of(from.observer);
  config.observer = observer.get();
  return {std::move(config), std::move(observer)};
}

} // namespace lemma::capi

using namespace lemma::capi;

lemma_stop* lemma_stop_create(void) {
  return new (std::nothrow) lemma_stop;
}

void lemma_stop_request(lemma_stop* stop) {
  if (stop)
    stop->requested.store(true);
}

void lemma_stop_reset(lemma_stop* stop) {
  if (stop)
    stop->requested.store(false);
}

void lemma_stop_release(lemma_stop* stop) {
  delete stop;
}

const lemma_error* lemma_launch(lemma_module* module, const char* kernel, const lemma_launch_config* config,
                                const lemma_bytes* arguments, size_t argument_count,
                                const lemma_report** report) {
  return guarded([&] {
    const lemma_report*& made = given(report, "lemma_launch: report");
    const lemma::Kernel found = given(module, "lemma_launch: module").kernel(kernel);
    const HeldConfig held = launch_config(config);
    made = new HeldReport(
        unwrap(found.launch(held.config, arguments_of(arguments, argument_count, "lemma_launch"))));
  });
}
