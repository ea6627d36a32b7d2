// One launch: the text is loaded, the --arg become the kernel's parameters, it runs - with --explore in every
// schedule - and its outputs are written. See run_steps.h.
#include "run_steps.h"

#include "application.h"
#include "progress.h"
#include "run_report.h"
#include "say.h"
#include "terminal.h"

#include "lemma/mlir.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <utility>

namespace lemma::cli {
namespace {

// FILE.mlir to PTX, with the arguments of its gpu.funcs.
Result<CompiledMlir, Stop> compile(const Run& run, const std::string& text) {
  auto compiled = compile_mlir(text, {.name = run.file, .arch = run.options.arch});
  if (!compiled)
    return stop(std::move(compiled).error());
  for (const Message& message : compiled->messages)
    print_messages(stderr, message.rendered);
  return *std::move(compiled);
}

uint64_t ctas_of(const LaunchConfig& config) {
  return uint64_t{config.grid[0]} * config.grid[1] * config.grid[2];
}

Result<Report, Stop> launch(Run& run, const Kernel& kernel, const std::vector<Argument>& arguments) {
  Progress progress(kernel.name(), ctas_of(run.config));
  run.config.progress = [&](uint64_t done, uint64_t) { progress.update(done); };
  catch_interrupts(run);
  auto report = kernel.launch(run.config, arguments);
  progress.finish();
  if (!report)
    return stop(std::move(report).error());
  std::fflush(stdout); // device printf before what is said about the run
  if (run.config.check_ctas != 0)
    run.found.limit_to(report->checked_ctas, ctas_of(run.config));
  return *std::move(report);
}

// The other schedules, each a launch on a device of its own.
Result<void, Stop> explore_launch(Run& run, const ScheduledLaunch& launch, const Report& usual) {
  auto outputs = run.arguments.outputs();
  if (!outputs)
    return stop(std::move(outputs).error());
  return explore(run,
                 {{.kernel = launch.kernel,
                   .ptx = launch.load.name,
                   .schedules = run.options.schedules,
                   .stop = run.config.stop},
                  [&](uint64_t schedule, uint64_t share) { return run_launch(launch, schedule, share); }},
                 {usual, *std::move(outputs)}, run.arguments.output_names());
}

// Of global memory, or of generic addresses: only there loads get older values.
bool has_strong_loads(std::string_view ptx) {
  for (size_t at = ptx.find("ld."); at != ptx.npos; at = ptx.find("ld.", at + 1)) {
    const std::string_view from = ptx.substr(at + 3), qualifiers = from.substr(0, from.find_first_of(" \t"));
    for (const std::string_view order : {"relaxed", "acquire", "volatile", "mmio"})
      if (qualifiers.starts_with(order) && qualifiers.find(".shared") == qualifiers.npos)
        return true;
  }
  return false;
}

// A kernel whose threads meet at words in global memory: the run had one value for each of these, and on a
// GPU a thread may see a write later than it was made. So a short one runs in some schedules more that give
// older values, and races that are found there are told, with the schedule that shows them. What else may
// follow - other outputs, a thread that waits for ever - is left to --explore.
Result<void, Stop> predict(Run& run, const ScheduledLaunch& launch, const Report& usual) {
  constexpr uint64_t kMostInstructions = 500'000, kInAll = 4'000'000; // of warps
  constexpr uint64_t kFewestSchedules = 8, kMostSchedules = 256;
  if (!run.config.check || run.config.schedule != 0 || !usual.ok() || run.found.has_errors() ||
      usual.stats.warp_instructions.value_or(UINT64_MAX) > kMostInstructions ||
      !has_strong_loads(launch.text))
    return {};
  const uint64_t schedules = std::clamp(kInAll / std::max<uint64_t>(*usual.stats.warp_instructions, 1),
                                        kFewestSchedules, kMostSchedules);
  ExploreOptions options{.kernel = launch.kernel, .ptx = launch.load.name, .stop = run.config.stop};
  for (uint64_t schedule = 1; options.only.size() < schedules; ++schedule)
    if (gives_old_values(schedule))
      options.only.push_back(schedule);
  auto explored = explore(
      {options, [&](uint64_t schedule, uint64_t share) { return run_launch(launch, schedule, share); }},
      {usual, {}}, run.found);
  if (!explored)
    return Unexpected<Stop>{std::move(explored).error()};
  std::erase_if(explored->findings, [](const Finding& finding) {
    return finding.schedule == 0 || finding.is_note || !finding.id.starts_with("race.");
  });
  for (const Finding& finding : explored->findings)
    if (!finding.suppressed)
      run.predicted_in = std::min(run.predicted_in.value_or(UINT64_MAX), finding.schedule);
  run.found.add_suppressed(std::move(explored->findings));
  return {};
}

// Outputs, words, SARIF, JSON.
Result<ExitStatus, Stop> finish(Run& run, const Launched& launched) {
  const Report& report = launched.report;
  ExitStatus status = judge(run, report);
  if (report.ok()) {
    const auto compared = write_outputs(run);
    if (!compared)
      return compared;
    if (status == kSuccess)
      status = *compared;
  }
  if (!run.json)
    show_launch(run, launched);
  if (!report.ok())
    leave_outputs(run);
  std::vector<Fault> faults;
  if (report.fault && report.outcome != Outcome::stopped)
    faults.push_back(*report.fault);
  status = write_sarif(run, status, faults, launched.kernel.name());
  if (run.json)
    print_launch(run, launched, status);
  return status;
}

// --dump-code
Result<ExitStatus, Stop> print_lowered(const Kernel& kernel, const std::string& pass) {
  const auto text = kernel.lowered(pass == "all" ? "" : pass);
  if (!text)
    return usage(fmt::format("--dump-code={}: {}", pass, text.error().text));
  std::fputs(text->c_str(), stdout);
  return kSuccess;
}

} // namespace

Result<ExitStatus, Stop> run_kernel(Run& run, std::string text) {
  std::vector<MlirKernel> functions; // the gpu.funcs of FILE.mlir
  if (run.is_mlir) {
    auto compiled = compile(run, text);
    if (!compiled)
      return Unexpected<Stop>{std::move(compiled).error()};
    text = std::move(compiled->text);
    functions = std::move(compiled->kernels);
  }
  const bool runs = run.options.dump_code.empty();
  if (runs && (!run.options.has_grid || !run.options.has_block))
    return usage("--grid and --block are required: CTAs, and threads of a CTA");
  const LoadOptions load{.name = run.ptx_name(), .arch = run.options.arch};
  const DeviceOptions device_options{.arch = run.options.arch,
                                     .max_memory_bytes = run.options.max_memory_bytes};
  const auto device = Device::open(run.options.device, device_options);
  if (!device)
    return stop(device.error());
  const auto module = device->load_ptx(text, load);
  if (!module)
    return stop(module.error());
  // The process ends sooner than a module of a million instructions is taken apart.
  if (run.options.device == "cpu") {
    [[maybe_unused]] static const Module* const kept = new Module(*module);
  }
  const auto kernel = module->kernel(run.options.entry);
  if (!kernel)
    return stop(kernel.error());
  if (!runs)
    return print_lowered(*kernel, run.options.dump_code);
  const auto lowered_from = std::find_if(functions.begin(), functions.end(), [&](const MlirKernel& function) {
    return function.name == kernel->name();
  });
  const MlirKernel* const mlir = lowered_from == functions.end() ? nullptr : &*lowered_from;
  const auto arguments = run.arguments.for_kernel(*device, *module, *kernel, mlir);
  if (!arguments)
    return Unexpected<Stop>{arguments.error()};
  if (!run.json)
    for (const std::string& unused : run.arguments.unused())
      say(fmt::format("{} is memory that no parameter and no tensor map takes", unused));

  const auto report = launch(run, *kernel, *arguments);
  if (!report)
    return Unexpected<Stop>{report.error()};
  const bool is_whole = report->outcome != Outcome::stopped && report->outcome != Outcome::unsupported;
  const ScheduledLaunch again{.text = std::move(text),
                              .load = load,
                              .device = device_options,
                              .kernel = kernel->name(),
                              .config = run.config,
                              .arguments = run.arguments,
                              .mlir = mlir};
  const bool explores = run.options.schedules != 0 && is_whole;
  if (!explores)
    run.found.add(report->findings);
  const auto more = explores ? explore_launch(run, again, *report) : predict(run, again, *report);
  if (!more)
    return Unexpected<Stop>{more.error()};
  return finish(run, {*device, *module, *kernel, *report});
}

} // namespace lemma::cli
