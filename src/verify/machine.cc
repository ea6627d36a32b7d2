// A module against the machine that shall run it: its .target, and what in it that machine lacks.
//
// PTX ISA: "PTX Module Directives: .target". Tests: tests/verify/machine_test.cc, tests/cli/.
#include "isa/machine.h"
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::verify {
namespace {

constexpr size_t kNamed = 3; // instructions that a message names

isa::Target fullest_target(int sm) {
  const isa::Machine* machine = isa::find_machine(sm);
  return machine ? isa::fullest_target(*machine) : isa::Target{sm, 0};
}

// What the verifier would say were the module for `target`.
Diagnostics lacking_in(const ptx::Module& module, isa::Target target) {
  ptx::Module other = module;
  other.targets = {isa::to_string(target)};
  Diagnostics all = verify(other);
  std::erase_if(all, [](const Diagnostic& d) { return d.id != "target" || d.range.begin == d.range.end; });
  return all;
}

} // namespace

Diagnostics refuse_on_machine(const ptx::Module& module, int sm) {
  const auto target = module.targets.empty() ? std::nullopt : isa::parse_target(module.targets.front());
  if (!target || isa::runs_on(*target, sm))
    return {};
  Diagnostic refusal{Severity::error,
                     "machine",
                     fmt::format("a module for {} does not run on sm_{}", isa::to_string(*target), sm),
                     module.target_range,
                     {{"runs on", isa::machines_of(*target)}}};
  Diagnostics lacking = lacking_in(module, fullest_target(sm));
  if (lacking.empty()) {
    const isa::Target plain{std::min(sm, target->sm), 0};
    const isa::Target enough = lacking_in(module, plain).empty() ? plain : fullest_target(sm);
    refusal.notes.push_back({"fix", fmt::format("nothing in the module needs {}: write .target {}",
                                                isa::to_string(*target), isa::to_string(enough))});
  } else if (lacking.size() > kNamed) {
    refusal.notes.push_back(
        {"lacking", fmt::format("{} instructions, of which the first follow", lacking.size())});
    lacking.resize(kNamed);
  }
  lacking.insert(lacking.begin(), std::move(refusal));
  return lacking;
}

} // namespace lemma::verify
