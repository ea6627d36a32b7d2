// The public linker: texts in, the printed module out, checked once more, so that what is given away is
// legal.
#include "lemma/link.h"

#include "ptx/link.h"
#include "ptx/parser.h"
#include "ptx/printer.h"
#include "runtime/report_text.h"
#include "verify/verify.h"
#include "vgpu/builtins.h"

#include <fmt/format.h>

#include <iterator>
#include <memory>

namespace lemma {
namespace {

Error rejected(std::vector<Message> messages) {
  std::string text;
  for (const Message& message : messages)
    if (message.severity != Severity::warning && text.empty())
      text = fmt::format("{}:{}:{}: {}", message.file, message.line, message.column, message.text);
  return {.kind = ErrorKind::rejected, .text = std::move(text), .messages = std::move(messages)};
}

// The module, or null after an error; what there is to say is added to `messages`.
std::unique_ptr<ptx::Module> checked_module(const PtxText& given, std::vector<Message>& messages) {
  const auto source = std::make_shared<const SourceText>(given.name, given.text);
  ptx::ParseOutcome outcome = ptx::parse(source);
  if (!has_errors(outcome.diagnostics)) {
    Diagnostics found = verify::verify(*outcome.module);
    std::move(found.begin(), found.end(), std::back_inserter(outcome.diagnostics));
  }
  for (const Diagnostic& diagnostic : outcome.diagnostics)
    messages.push_back(runtime::to_message(diagnostic, *source));
  return has_errors(outcome.diagnostics) ? nullptr : std::move(outcome.module);
}

} // namespace

Result<LinkedPtx, Error> link_ptx(std::span<const PtxText> texts) {
  if (texts.empty())
    return fail(Error{ErrorKind::invalid_argument, "there are no texts to link", {}});
  std::vector<std::unique_ptr<ptx::Module>> owned;
  std::vector<const ptx::Module*> modules;
  LinkedPtx linked;
  bool all_legal = true;
  for (const PtxText& text : texts) {
    owned.push_back(checked_module(text, linked.messages));
    modules.push_back(owned.back().get());
    all_legal &= owned.back() != nullptr;
  }
  if (!all_legal)
    return fail(rejected(std::move(linked.messages)));
  const ptx::LinkOutcome outcome = ptx::link(modules, vgpu::builtin_names());
  bool is_linked = true;
  for (const ptx::LinkDiagnostic& each : outcome.diagnostics) {
    linked.messages.push_back(runtime::to_message(each.diagnostic, *modules[each.module]->source));
    is_linked = false;
  }
  if (!is_linked)
    return fail(rejected(std::move(linked.messages)));
  linked.text = ptx::print(outcome.module);
  std::vector<Message> of_result;
  if (!checked_module({linked.text, "<linked>"}, of_result))
    return fail(rejected(std::move(of_result)));
  return linked;
}

} // namespace lemma
