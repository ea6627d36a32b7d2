// Launches as steps. See step.h.
#include "timing/step.h"

#include "runtime/run_kernel.h"

namespace lemma {

Result<Step, Error> Step::launch(const Kernel& kernel, const LaunchConfig& config,
                                 std::span<const Argument> arguments) {
  auto prepared = runtime::prepare(kernel.module_, kernel.index_, config, arguments);
  if (!prepared)
    return Unexpected<Error>{std::move(prepared).error()};
  auto step = std::make_shared<timing::StepImpl>();
  step->name = kernel.name();
  step->device = prepared->module->device;
  if (step->device->info.kind == "cuda")
    step->start = [launch = *prepared] {
      return launch.module->start(*launch.kernel, launch.config, launch.params);
    };
  else
    step->run = [kernel, config,
                 given =
                     std::vector<Argument>(arguments.begin(), arguments.end())]() -> Result<double, Error> {
      const auto report = kernel.launch(config, given);
      if (!report)
        return Unexpected<Error>{report.error()};
      if (!report->ok())
        return runtime::failure(ErrorKind::kernel_failed, report->rendered);
      return report->stats.seconds;
    };
  return Step(std::move(step));
}

const std::string& Step::name() const {
  return impl_->name;
}

} // namespace lemma
