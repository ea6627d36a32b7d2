// The report of a device is completed with what only the module's text says: sources, inlined calls, the
// rendered messages.
#include "runtime/run_kernel.h"

#include "runtime/callers_code.h"
#include "runtime/inlined_comments.h"
#include "runtime/kernel_info.h"
#include "runtime/kernel_names.h"
#include "runtime/report_text.h"
#include "runtime/source_lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lemma::runtime {
namespace {

// A callback of a launch as the device calls it: a copy, since a stream outlives the configuration.
template <class... Arguments>
std::function<void(Arguments...)> marked(const std::function<void(Arguments...)>& callback,
                                         const char* name) {
  if (!callback)
    return nullptr;
  return [callback, name](Arguments... arguments) { call_callers(name, [&] { callback(arguments...); }); };
}

// Sizes as they are meant: y and z of 0 are 1. A cluster that neither the launch nor the kernel names stays
// 0.
Dim3 normalized(Dim3 size) {
  size[1] = std::max(size[1], 1u);
  size[2] = std::max(size[2], 1u);
  return size;
}

LaunchConfig normalized(LaunchConfig config, const KernelInfo& kernel) {
  config.grid = normalized(config.grid);
  config.block = normalized(config.block);
  config.cooperative |= kernel.reads_envreg;
  if (config.cluster == Dim3{0, 0, 0})
    config.cluster = kernel.required_cluster;
  if (config.cluster != Dim3{0, 0, 0})
    config.cluster = normalized(config.cluster);
  return config;
}

} // namespace

Result<PreparedLaunch, Error> prepare(std::shared_ptr<ModuleImpl> module, size_t kernel,
                                      const LaunchConfig& config, std::span<const Argument> arguments) {
  const KernelInfo& info = module->kernels[kernel];
  Result<std::vector<std::byte>, Error> params = lay_out_arguments(info, arguments);
  if (!params)
    return Unexpected<Error>{std::move(params).error()};
  PreparedLaunch launch{.module = std::move(module),
                        .kernel = &info,
                        .config = normalized(config, info),
                        .params = *std::move(params)};
  launch.config.print = marked(config.print, "print function");
  launch.config.progress = marked(config.progress, "progress function");
  return launch;
}

namespace {

// Variables, and functions, as the source has them. Which kernel it is, Finding::kernel says by its name in
// the PTX.
void show_names(Report& report) {
  const auto show = [](std::string& text) { text = with_brief_names(text); };
  if (report.fault) {
    show(report.fault->message);
    std::ranges::for_each(report.fault->notes, show);
  }
  for (Waiting& waiting : report.waiting)
    std::ranges::for_each(waiting.notes, show);
  for (Finding& finding : report.findings)
    show(finding.memory);
}

} // namespace

Result<Report, Error> run(PreparedLaunch launch, LaunchHooks hooks) {
  const ModuleImpl& module = *launch.module;
  Result<Report, Error> report =
      launch.module->launch(*launch.kernel, launch.config, std::move(launch.params), std::move(hooks));
  if (!report)
    return report;
  report->arithmetic = module.arithmetic;
  add_inlined_calls(*report, *module.ptx);
  show_names(*report);
  show_sources(*report, module.ptx->source->name());
  for (Finding& finding : report->findings) {
    finding.kernel = launch.kernel->name;
    finding.ptx = module.ptx->source->name();
    finding.rendered = render_finding(finding, module.ptx->source.get(), module.ptx->source.get());
  }
  report->rendered = render_report(*report, *module.ptx->source);
  return report;
}

Result<Report, Error> run_noted(PreparedLaunch launch, LaunchHooks hooks,
                                const Timeline::Operation& operation) {
  const std::shared_ptr<ModuleImpl> module = launch.module;
  StreamChecks* checks = module->device->stream_checks.get();
  if (!checks)
    return run(std::move(launch), std::move(hooks));
  const std::string& kernel = launch.kernel->name;
  auto footprint = std::make_shared<check::Footprint>();
  hooks.footprint = footprint.get();
  Result<Report, Error> report = run(std::move(launch), std::move(hooks));
  footprint->finish();
  checks->add({.position = operation.position(),
               .what = fmt::format("kernel {}", brief_name(kernel)),
               .kernel = kernel,
               .ptx = module->ptx,
               .footprint = std::move(footprint)},
              *module->device->timeline);
  return report;
}

} // namespace lemma::runtime
