// Besides the round trip two things are compared: what the verifier says of the text and of its printed form,
// and that every message lies within the text and none is `internal`.
#include "front_end.h"

#include "equivalent.h"
#include "ptx/parser.h"
#include "ptx/printer.h"

#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma::fuzz {
namespace {

// What is wrong with the messages themselves; empty if nothing.
std::string fault_of(const Diagnostics& diagnostics, const SourceText& source) {
  const std::string rendered = render(diagnostics, source);
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::internal || diagnostic.range.begin > source.text().size() ||
        diagnostic.message.empty())
      return "a message that should not be:\n" + rendered;
  return {};
}

// Sorted: a function that is declared first and defined later is printed where it is declared.
std::string verdict_of(const ptx::Module& module) {
  std::vector<std::string> messages;
  for (const Diagnostic& diagnostic : verify::verify(module))
    messages.push_back(diagnostic.id + ": " + diagnostic.message + "\n");
  std::sort(messages.begin(), messages.end());
  return fmt::format("{}", fmt::join(messages, ""));
}

} // namespace

Verdict check_front_end(std::string_view text) {
  const auto source = std::make_shared<SourceText>("fuzz.ptx", std::string(text));
  const ptx::ParseOutcome outcome = ptx::parse(source);
  if (const std::string fault = fault_of(outcome.diagnostics, *source); !fault.empty())
    return {false, fault};
  if (has_errors(outcome.diagnostics))
    return {false, ""};
  if (const std::string fault = fault_of(verify::verify(*outcome.module), *source); !fault.empty())
    return {true, fault};
  const std::string printed = ptx::print(*outcome.module);
  const auto printed_source = std::make_shared<SourceText>("printed.ptx", printed);
  const ptx::ParseOutcome again = ptx::parse(printed_source);
  if (!again.diagnostics.empty())
    return {true, "the printed text is refused:\n" + render(again.diagnostics, *printed_source) + printed};
  const std::string difference = ptx::difference(*outcome.module, *again.module);
  if (!difference.empty())
    return {true, "the printed text says something else: " + difference + "\n" + printed};
  const std::string verdict = verdict_of(*outcome.module);
  const std::string verdict_again = verdict_of(*again.module);
  if (verdict != verdict_again)
    return {true,
            "the verifier says of the text:\n" + verdict + "and of it printed:\n" + verdict_again + printed};
  return {true, ""};
}

} // namespace lemma::fuzz
