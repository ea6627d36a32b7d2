// How well the bits of what ran are known: Report::forms, over several launches, and for people.
//
//   LaunchConfig config{.grid = {4}, .block = {256}, .fidelity = true};
//   auto report = kernel->launch(config, arguments);
//   std::puts(lemma::fidelity_text(report->forms, report->arithmetic).c_str());
//
// Tests: tests/unit/runtime/observer_test.cc, tests/cli/watch_cli_test.py.
#pragma once

#include "lemma/report.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// Adds the counts of another launch; what is alike becomes one. The least known come first, of those the most
// frequent.
void merge(std::vector<ExecutedForm>& all, std::span<const ExecutedForm> more);

// Some lines, the least known first: of forms that are exact by the PTX ISA how many there are, and how many
// of those hardware was asked about; of all others the forms, at most `most` of each kind, and by what they
// are known. Ends with a newline; empty where there are no forms.
std::string fidelity_text(std::span<const ExecutedForm> forms, std::string_view arithmetic, size_t most = 8);

} // namespace lemma
