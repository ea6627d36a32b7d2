// Forms, targets and the dialect's support as public data (lemma/isa.h).
#include "fidelity/recorded.h"
#include "inspect/availability.h"
#include "isa/catalogue.h"
#include "lemma/nearest.h"
#include "numeric/mufu.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>

namespace lemma {
namespace inspect {
namespace {

// The functions among the spellings of each form that has some.
const std::multimap<const isa::Form*, numeric::Mufu>& functions_of_forms() {
  static const std::multimap<const isa::Form*, numeric::Mufu> functions_of = [] {
    std::multimap<const isa::Form*, numeric::Mufu> all;
    for (int f = 0; f < numeric::kMufuForms; ++f) {
      const auto function = static_cast<numeric::Mufu>(f);
      std::vector<isa::Word> words;
      for (const auto word : std::views::split(numeric::to_string(function), '.'))
        words.push_back({std::string_view(word.begin(), word.end()), {}});
      if (const auto match = isa::match(words))
        for (const isa::Binding& fits : match->bindings)
          all.emplace(fits.form, function);
    }
    return all;
  }();
  return functions_of;
}

ApproximateFunction function_of(numeric::Mufu function) {
  return {.name = std::string(numeric::to_string(function)),
          .checked_inputs = std::string(numeric::checked_inputs(function))};
}

bool is_matrix_form(const isa::Form& form) {
  return std::any_of(isa::matrix_rows().begin(), isa::matrix_rows().end(),
                     [&](const isa::MatrixRow& row) { return row.opcode == form.opcode; });
}

bool fits(const isa::Form& form, const std::string& word) {
  if (const auto target = isa::parse_target(word))
    return form.targets.any_of.empty() || form.targets.contains(*target);
  return (isa::syntax_of(form) + " " + isa::where_of(form)).find(word) != std::string::npos;
}

// A row of inspect/nvgpu_support.inc, which tests/mlir/matrix/matrix.py writes.
struct Support {
  std::string_view op, types, shape, variant, instruction, targets;
  int forms = 0, lower = 0, run = 0, equal = 0, refused = 0,
      ptxas = 0; // the last five: how many of the forms
};

constexpr Support kSupport[] = {
#define SUPPORT(op, types, shape, variant, instruction, targets, ...)                                        \
  {op, types, shape, variant, instruction, targets, __VA_ARGS__},
#include "inspect/nvgpu_support.inc"
#undef SUPPORT
};

} // namespace

Unexpected<Error> wrong(std::string text) {
  return Unexpected<Error>{{.kind = ErrorKind::invalid_argument, .text = std::move(text), .messages = {}}};
}

std::optional<Error> refuse_unknown_targets(std::span<const std::string> words) {
  for (const std::string& word : words)
    if (const auto target = isa::parse_target(word); target && !isa::target_since(*target))
      return wrong(fmt::format("there is no target {}{}\n  all: {}", word,
                               did_you_mean(word, isa::target_words()), fmt::join(isa::target_words(), " ")))
          .error;
  return std::nullopt;
}

Availability availability_of(const isa::Form& form) {
  Availability out{.targets = {},
                   .targets_text = isa::to_string(form.targets),
                   .since = {form.since.major, form.since.minor},
                   .section = std::string(form.section)};
  for (const isa::Target target : form.targets.any_of)
    out.targets.push_back({.target = isa::to_string(target),
                           .covers = target.suffix == 'f'   ? TargetRange::Covers::family
                                     : target.suffix == 'a' ? TargetRange::Covers::alone
                                                            : TargetRange::Covers::up});
  return out;
}

} // namespace inspect

std::vector<std::string> targets() {
  return {isa::target_words().begin(), isa::target_words().end()};
}

std::vector<ApproximateFunction> approximate_functions() {
  std::vector<ApproximateFunction> all;
  for (int f = 0; f < numeric::kMufuForms; ++f)
    all.push_back(inspect::function_of(static_cast<numeric::Mufu>(f)));
  return all;
}

Result<std::vector<InstructionForm>, Error> instruction_forms(std::span<const std::string> words) {
  if (auto refused = inspect::refuse_unknown_targets(words))
    return Unexpected<Error>{*std::move(refused)};
  std::vector<InstructionForm> found;
  for (const isa::Form& form : isa::forms()) {
    if (inspect::is_matrix_form(form) ||
        !std::ranges::all_of(words, [&](const std::string& word) { return inspect::fits(form, word); }))
      continue;
    InstructionForm out{.syntax = isa::syntax_of(form),
                        .where = isa::where_of(form),
                        .availability = inspect::availability_of(form),
                        .checked = fidelity::checked_on_hardware(form),
                        .approximate = {}};
    const auto [begin, end] = inspect::functions_of_forms().equal_range(&form);
    for (auto it = begin; it != end; ++it)
      out.approximate.push_back(inspect::function_of(it->second));
    found.push_back(std::move(out));
  }
  return found;
}

std::vector<NvgpuSupport> nvgpu_support(std::span<const std::string> words) {
  std::vector<NvgpuSupport> found;
  for (const inspect::Support& line : inspect::kSupport) {
    const std::string all = fmt::format("nvgpu.{} {} {} {} {} {}", line.op, line.types, line.shape,
                                        line.variant, line.instruction, line.targets);
    if (std::ranges::all_of(words,
                            [&](const std::string& word) { return all.find(word) != std::string::npos; }))
      found.push_back({.operation = fmt::format("nvgpu.{}", line.op),
                       .types = std::string(line.types),
                       .shape = std::string(line.shape),
                       .variant = std::string(line.variant),
                       .instruction = std::string(line.instruction),
                       .targets = std::string(line.targets),
                       .forms = line.forms,
                       .lower = line.lower,
                       .pass_ptxas = line.ptxas,
                       .run = line.run,
                       .equal = line.equal,
                       .refused = line.refused});
  }
  return found;
}

} // namespace lemma
