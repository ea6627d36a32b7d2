// One parse and one verification for whoever takes a text; see check_text.h for what that is.
#include "runtime/check_text.h"

#include "runtime/report_text.h"
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lemma::runtime {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 30; // as the parser's

} // namespace

ptx::ParseOutcome diagnose(const std::shared_ptr<const SourceText>& source, uint64_t most_bytes) {
  ptx::ParseOutcome outcome = ptx::parse(source, most_bytes);
  Diagnostics& diagnostics = outcome.diagnostics;
  if (may_be_legal(diagnostics)) // what is not understood has been left out
    for (Diagnostic& diagnostic : verify::verify(*outcome.module))
      diagnostics.push_back(std::move(diagnostic));
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.range.begin < b.range.begin; });
  return outcome;
}

Checked check_text(std::string text, std::string name, uint64_t most_bytes) {
  Checked checked;
  const auto refuse = [&](std::string id, std::string why) {
    std::string rendered = fmt::format("{}: error[{}]: {}\n", name, id, why);
    checked.messages.push_back({.id = std::move(id),
                                .text = std::move(why),
                                .file = std::move(name),
                                .notes = {},
                                .rendered = std::move(rendered)});
    return checked;
  };
  if (text.size() > kMaxTextBytes)
    return refuse("limit", "more than 1 GiB of PTX");
  const auto lines = static_cast<uint64_t>(std::count(text.begin(), text.end(), '\n'));
  if (SourceText::memory_bytes(text, lines) > most_bytes)
    return refuse("memory",
                  fmt::format("{} bytes of PTX in {} lines take more than {} bytes of memory (--max-memory)",
                              text.size(), lines, most_bytes));
  const auto source = std::make_shared<const SourceText>(std::move(name), std::move(text));
  ptx::ParseOutcome outcome = diagnose(source, most_bytes);
  for (const Diagnostic& diagnostic : outcome.diagnostics)
    checked.messages.push_back(to_message(diagnostic, *source));
  if (may_be_legal(outcome.diagnostics)) {
    checked.module = std::move(outcome.module);
    checked.module_bytes = outcome.memory_bytes;
  }
  return checked;
}

Error load_error(std::vector<Message> messages) {
  Error error{
      .kind = ErrorKind::internal, .text = "the text could not be read", .messages = std::move(messages)};
  const auto first = [&](Severity severity) {
    return std::find_if(error.messages.begin(), error.messages.end(),
                        [&](const Message& m) { return m.severity == severity; });
  };
  for (const auto& [severity, kind] : {std::pair{Severity::error, ErrorKind::rejected},
                                       std::pair{Severity::unsupported, ErrorKind::unsupported},
                                       std::pair{Severity::internal, ErrorKind::internal}})
    if (const auto found = first(severity); found != error.messages.end()) {
      error.kind = found->id == "memory" ? ErrorKind::out_of_memory : kind;
      error.text = found->text;
      break;
    }
  return error;
}

} // namespace lemma::runtime
