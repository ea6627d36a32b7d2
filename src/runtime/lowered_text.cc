// Kernel::lowered(): the lowered program as text.
#include "isa/target.h"
#include "lemma/device.h"
#include "lowered/lower.h"
#include "lowered/passes.h"
#include "lowered/print.h"
#include "runtime/device_impl.h"
#include "runtime/guarded.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma {
namespace {

constexpr std::string_view kBeforeAll = "lower";

// Up to the one of that name.
Result<std::span<const lowered::Pass>, Error> passes_to(std::string_view name) {
  const std::span<const lowered::Pass> passes = lowered::passes();
  if (name.empty())
    return passes;
  if (name == kBeforeAll)
    return passes.first(0);
  const auto last = std::ranges::find(passes, name, &lowered::Pass::name);
  if (last != passes.end())
    return passes.first(static_cast<size_t>(last - passes.begin()) + 1);
  std::string known(kBeforeAll);
  for (const lowered::Pass& pass : passes)
    known += fmt::format(", {}", pass.name);
  return runtime::failure(ErrorKind::invalid_argument,
                          fmt::format("there is no pass \"{}\"; passes: {}", name, known));
}

} // namespace

Result<std::string, Error> Kernel::lowered(std::string_view pass) const {
  const auto passes = passes_to(pass);
  if (!passes)
    return Unexpected<Error>{passes.error()};
  return runtime::guarded([&]() -> Result<std::string, Error> {
    const ptx::Module& module = *module_->ptx;
    const std::optional<isa::Target> target = isa::parse_target(module_->arithmetic);
    std::string text;
    const auto add = [&](const ptx::Function& function) {
      lowered::Function program = lowered::lower(module, function, target ? target->sm : 0);
      for (const lowered::Pass& each : *passes)
        each.run(program);
      text += lowered::print(program);
    };
    for (const bool is_kernel : {true, false})
      for (const ptx::Function& function : module.functions)
        if (function.has_body && function.is_entry == is_kernel && (!is_kernel || function.name == name()))
          add(function);
    return text;
  });
}

} // namespace lemma
