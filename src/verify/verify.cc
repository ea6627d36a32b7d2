// Walks a module and applies the rules of the other files.
#include "verify/verify.h"

#include "isa/directive.h"
#include "isa/machine.h"
#include "verify/verifier.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::verify {

Diagnostic* Context::refuse(const isa::Need& need, std::string_view what, SourceRange range) {
  if (!need.targets.contains(target)) {
    Diagnostic& d = error("target", range, fmt::format("{} is not in {}", what, isa::to_string(target)));
    d.notes.push_back({"legal", isa::to_string(need.targets)});
    return &d;
  }
  if (version < need.since) {
    Diagnostic& d = error("ptx-version", range,
                          fmt::format("{} is not in PTX {}.{}", what, version.major, version.minor));
    d.notes.push_back({"legal", fmt::format(".version {}.{} or later", need.since.major, need.since.minor)});
    offer_version(d, need.since);
    return &d;
  }
  return nullptr;
}

void Context::need_part(std::string_view part, SourceRange range) {
  const isa::Directive* row = isa::find_directive(isa::Directive::Kind::part, part);
  if (Diagnostic* d = refuse({row->since, row->targets}, part, range))
    d->notes.push_back({"see", fmt::format("PTX ISA, #{}", row->section)});
}

namespace {

bool is_later_machine(isa::Target target) {
  return target.sm > isa::machines().back().sm;
}

} // namespace

Diagnostics verify(const Module& module) {
  Diagnostics diagnostics;
  Context context{module, {}, {module.version.major, module.version.minor}, diagnostics, {}};
  if (!module.targets.empty())
    if (const auto target = isa::parse_target(module.targets.front()))
      context.target = *target;
  for (const Function& function : module.functions)
    context.functions.emplace(function.name, &function);
  check_module(context);
  isa::OperandShapes shapes;
  for (const Function& function : module.functions) {
    context.grouped = nullptr;
    for (const Instruction& instruction : function.instructions)
      if (!context.is_full() && instruction.form()) // else it was not understood
        check_instruction(context, function, instruction, shapes);
  }
  if (context.version > isa::kNewestVersion && is_later_machine(context.target))
    for (Diagnostic& diagnostic : diagnostics) // what a later machine lacks is not known
      if (diagnostic.id == "target")
        diagnostic.severity = Severity::unsupported;
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.range.begin < b.range.begin; });
  return diagnostics;
}

} // namespace lemma::verify
