// A schedule's run is that of the command, on a device of its own: addresses are the same on each, and memory
// holds what the files and the seed say. What the kernel prints is that of the usual schedule.
#include "exploration.h"

#include "application.h"
#include "json_output.h"

#include "lemma/printable.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace lemma::cli {
namespace {

constexpr size_t kShown = 8; // of schedules with other outputs

} // namespace

uint64_t memory_share(uint64_t most, uint64_t share) {
  return (most == 0 ? default_max_memory_bytes() : most) / share;
}

Result<ScheduleRun, Stop> run_launch(const ScheduledLaunch& launch, uint64_t schedule, uint64_t share) {
  DeviceOptions options = launch.device;
  options.max_memory_bytes = memory_share(options.max_memory_bytes, share);
  const auto device = Device::open("cpu", options);
  if (!device)
    return stop(device.error());
  const auto module = device->load_ptx(launch.text, launch.load);
  if (!module)
    return stop(module.error());
  const auto kernel = module->kernel(launch.kernel);
  if (!kernel)
    return stop(kernel.error());
  RunArguments arguments = launch.arguments.afresh();
  const auto passed = arguments.for_kernel(*device, *module, *kernel, launch.mlir);
  if (!passed)
    return fail(passed.error());
  LaunchConfig config = launch.config;
  config.schedule = schedule;
  config.print = [](std::string_view) {};
  config.progress = nullptr;
  config.observer = nullptr; // of the usual schedule
  config.fidelity = false;
  auto report = kernel->launch(config, *passed);
  if (!report)
    return stop(report.error());
  auto outputs = arguments.outputs();
  if (!outputs)
    return stop(outputs.error());
  return ScheduleRun{*std::move(report), *std::move(outputs)};
}

namespace {

size_t count_differences(const Exploration& exploration) {
  return static_cast<size_t>(
      std::count_if(exploration.schedules.begin(), exploration.schedules.end(),
                    [](const ExploredSchedule& s) { return s.difference.has_value(); }));
}

size_t count_faults(const Exploration& exploration) {
  return static_cast<size_t>(
      std::count_if(exploration.schedules.begin(), exploration.schedules.end(),
                    [](const ExploredSchedule& s) { return s.fault && s.outcome != Outcome::stopped; }));
}

} // namespace

std::string repeating_schedule(uint64_t schedule) {
  return repeating_command("--explore", fmt::format("--schedule {}", schedule));
}

Result<Exploration, Stop> explore(const Explored& explored, ScheduleRun first, CheckOutput& found) {
  ExitStatus failed = kFailed;
  const auto run = [&](uint64_t schedule, uint64_t share) -> Result<ScheduleRun, Error> {
    auto done = explored.run(schedule, share);
    if (!done) {
      if (done.error().status != kFailed)
        failed = done.error().status;
      return fail(done.error().error);
    }
    found.suppress(done->report.findings);
    return *std::move(done);
  };
  found.suppress(first.report.findings);
  auto exploration = lemma::explore(explored.options, first, run);
  if (!exploration)
    return fail(Stop{failed, std::move(exploration).error()});
  return *std::move(exploration);
}

bool has_failed(const Exploration& exploration) {
  return count_faults(exploration) > 0 || (count_differences(exploration) > 0 && !exploration.float_atomics);
}

std::string to_text(const Exploration& exploration, const std::vector<std::string>& outputs) {
  std::string text;
  size_t shown = 0;
  for (const ExploredSchedule& at : exploration.schedules) {
    if (!at.difference || ++shown > kShown)
      continue;
    text +=
        fmt::format("lemma: schedule {} ({}): {} differs from the usual schedule's in {} byte{}, first at "
                    "{:#x}\n",
                    at.schedule, schedule_text(at.schedule), printable(outputs[at.difference->output]),
                    at.difference->bytes, at.difference->bytes == 1 ? "" : "s", at.difference->offset);
  }
  if (shown > kShown)
    text += fmt::format("lemma: ... and {} more schedules with other outputs\n", shown - kShown);
  if (shown > 0 && exploration.float_atomics)
    text += "lemma: note: the kernel has added floating-point numbers by atomics, whose sums follow from the "
            "order\n";
  if (exploration.first_unlike)
    text += fmt::format("lemma: to repeat schedule {}: {}\n", *exploration.first_unlike,
                        printable(repeating_schedule(*exploration.first_unlike)));
  return text;
}

std::string closing_text(const Exploration& exploration) {
  std::string text = fmt::format("{} schedules", exploration.schedules.size());
  if (const size_t faults = count_faults(exploration))
    text += fmt::format(", {} with a fault", faults);
  if (const size_t different = count_differences(exploration))
    text += fmt::format(", {} with other outputs{}", different,
                        exploration.float_atomics ? " (floating-point atomics)" : "");
  return text;
}

nlohmann::json to_json(const Exploration& exploration, const std::vector<std::string>& outputs) {
  using nlohmann::json;
  json runs = json::array();
  for (const ExploredSchedule& at : exploration.schedules) {
    json run = {{"schedule", at.schedule},           {"what", schedule_text(at.schedule)},
                {"outcome", to_string(at.outcome)},  {"fault", at.fault ? to_json(*at.fault) : json(nullptr)},
                {"new_finding", at.has_new_finding}, {"difference", nullptr}};
    if (at.difference)
      run["difference"] = {{"output", outputs[at.difference->output]},
                           {"offset", at.difference->offset},
                           {"bytes", at.difference->bytes}};
    runs.push_back(std::move(run));
  }
  const std::optional<uint64_t>& unlike = exploration.first_unlike;
  return {{"schedules", std::move(runs)},
          {"float_atomics", exploration.float_atomics},
          {"first_unlike", unlike ? json(*unlike) : json(nullptr)},
          {"command", unlike ? json(repeating_schedule(*unlike)) : json(nullptr)}};
}

} // namespace lemma::cli
