// The public linker: texts in, the printed module out, checked once more, so that what is given away is
// legal.
#include "lemma/link.h"

#include "lemma/device.h"
#include "ptx/link.h"
#include "ptx/printer.h"
#include "runtime/check_text.h"
#include "runtime/device_runtime.h"
#include "runtime/report_text.h"
#include "vgpu/engine/builtins.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace lemma {
namespace {

// As for one text, but that it says in which the place is.
Error link_error(std::vector<Message> messages) {
  Error error = runtime::load_error(std::move(messages));
  const auto said = std::find_if(error.messages.begin(), error.messages.end(),
                                 [&](const Message& message) { return message.text == error.text; });
  if (said != error.messages.end())
    error.text = fmt::format("{}:{}:{}: {}", said->file, said->line, said->column, said->text);
  return error;
}

// Functions that need no definition: whoever loads the text has them.
std::vector<std::string_view> provided_names() {
  std::vector<std::string_view> names;
  std::ranges::copy(vgpu::builtin_names(), std::back_inserter(names));
  std::ranges::copy(runtime::device_runtime_names(), std::back_inserter(names));
  return names;
}

} // namespace

Result<LinkedPtx, Error> link_ptx(std::span<const PtxText> texts) {
  if (texts.empty())
    return fail(Error{ErrorKind::invalid_argument, "there are no texts to link", {}});
  std::vector<runtime::Checked> checked;
  std::vector<const ptx::Module*>
      modules; // null: the text is not legal, or what it declares is not understood
  LinkedPtx linked;
  for (const PtxText& text : texts) {
    runtime::Checked& each =
        checked.emplace_back(runtime::check_text(text.text, text.name, default_max_memory_bytes()));
    modules.push_back(each.module && !each.module->lost_declaration ? each.module.get() : nullptr);
    std::move(each.messages.begin(), each.messages.end(), std::back_inserter(linked.messages));
  }
  if (std::find(modules.begin(), modules.end(), nullptr) != modules.end())
    return fail(link_error(std::move(linked.messages)));
  const ptx::LinkOutcome outcome = ptx::link(modules, provided_names());
  for (const ptx::LinkDiagnostic& each : outcome.diagnostics)
    linked.messages.push_back(runtime::to_message(each.diagnostic, *modules[each.module]->source));
  if (!outcome.diagnostics.empty())
    return fail(link_error(std::move(linked.messages)));
  linked.text = ptx::print(outcome.module);
  runtime::Checked result = runtime::check_text(linked.text, "<linked>", default_max_memory_bytes());
  if (!result.module)
    return fail(link_error(std::move(result.messages)));
  return linked;
}

} // namespace lemma
