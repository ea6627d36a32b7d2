// `lemma isa`: the catalogue of matrix instructions as a list, or one of them explained.
//
//   lemma isa                   every matrix instruction: targets, PTX version, how it was checked
//   lemma isa mma.sync bf16     those that all words fit
//   lemma isa NAME              one: operands, registers, who holds what, arithmetic of each machine
//   lemma isa --nvgpu tf32      what forms the dialect's operations have (isa_nvgpu.cc)
//
// Everything printed is read from src/isa, src/layout and src/numeric, so that a new row is listed without a
// change here. isa_text.cc writes one instruction.
//
// Tests: tests/cli/.
#include "isa.h"
#include "isa_nvgpu.h"
#include "isa_text.h"
#include "json_output.h"
#include "matrix_name.h"
#include "recorded.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

namespace lemma::cli {
namespace {

constexpr const char* kFooter =
    R"(A word is the start or else a part of a spelling, a shell pattern of a whole one, or a target. A name is a full spelling, or enough of
the start of one that no other instruction begins so.
  lemma isa wgmma f16
  lemma isa sm_75
  lemma isa --nvgpu warpgroup.mma e4m3
  lemma isa mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
Braces stand for a choice, {.x} for a modifier that may be left out, {.ss} for a state space.
Targets: sm_80+ and up, sm_90a alone, sm_100f its family (sm_100a, sm_103a, ...).
F: the fraction bits to which products are cut before they are summed.
Exit status: 0 success; 2 nothing is called so.)";

// --- Lists ---

// Columns of the list, all of 120 characters.
constexpr size_t kTargetsWidth = 17, kPtxWidth = 5, kCheckedWidth = 23, kNameWidth = 120 - 17 - 5 - 23 - 3;

// sm_80+: and up; sm_90a: alone; sm_100f: its family, of which sm_100a is one.
std::vector<std::string> target_words_of(const isa::TargetSet& targets) {
  std::vector<std::string> words;
  for (const isa::Target target : targets.any_of) {
    const auto family = [&](isa::Target other) { return other == isa::Target{target.sm, 'f'}; };
    if (target.suffix == 'a' && std::any_of(targets.any_of.begin(), targets.any_of.end(), family))
      continue;
    words.push_back(isa::to_string(target) + (target.suffix == 0 ? "+" : ""));
  }
  if (words.empty())
    words.emplace_back("all");
  return words;
}

struct Line {
  std::string name;
  const isa::Form* form = nullptr;
  std::string checked;
  std::string also = {}; // under `checked`
};

// Names and targets that are too long take lines of their own.
void print_line(const Line& line) {
  std::vector<std::string> targets;
  for (const std::string& word : target_words_of(line.form->targets)) {
    const bool fits = !targets.empty() && targets.back().size() + 2 + word.size() <= kTargetsWidth;
    if (fits)
      targets.back() += ", " + word;
    else
      targets.push_back(word);
  }
  std::string name = line.name;
  if (name.size() > kNameWidth) {
    fmt::print("{}\n", name);
    name.clear();
  }
  for (size_t i = 0; i < targets.size(); ++i)
    if (i == 0)
      fmt::print("{:<{}} {:<{}} {:<{}} {}\n", name, kNameWidth, targets[i], kTargetsWidth,
                 fmt::format("{}.{}", line.form->since.major, line.form->since.minor), kPtxWidth,
                 line.checked);
    else
      fmt::print("{:<{}} {}\n", "", kNameWidth, targets[i]);
  if (!line.also.empty())
    fmt::print("{:>120}\n", line.also);
}

void print_head() {
  fmt::print("{:<{}} {:<{}} {:<{}} {}\n", "instruction", kNameWidth, "targets", kTargetsWidth, "PTX",
             kPtxWidth, "checked");
}

// "wmma.load.a": what the parts of a list have in common.
std::string title_of(const isa::MatrixRow& row) {
  const std::string opcode(isa::to_string(row.opcode));
  const bool names_matrix = row.opcode == isa::Opcode::wmma_load || row.opcode == isa::Opcode::wmma_store;
  const std::string of = names_matrix ? fmt::format(".{}", "abcd"[static_cast<int>(row.matrix)]) : "";
  return opcode + of + (row.sparse == isa::Qual::none ? "" : fmt::format(".{}", isa::to_string(row.sparse)));
}

// Rows of one title next to each other, in the order in which the titles come first.
std::vector<const isa::MatrixRow*> by_title(std::vector<const isa::MatrixRow*> rows) {
  std::vector<std::string> titles;
  const auto place = [&](const isa::MatrixRow* row) {
    return std::find(titles.begin(), titles.end(), title_of(*row)) - titles.begin();
  };
  for (const isa::MatrixRow* row : rows)
    if (place(row) == static_cast<std::ptrdiff_t>(titles.size()))
      titles.push_back(title_of(*row));
  std::stable_sort(rows.begin(), rows.end(), [&](const isa::MatrixRow* one, const isa::MatrixRow* other) {
    return place(one) < place(other);
  });
  return rows;
}

void print_rows(const std::vector<const isa::MatrixRow*>& rows) {
  print_head();
  const isa::MatrixRow* last = nullptr;
  size_t checked = 0;
  for (const isa::MatrixRow* row : rows) {
    if (last && title_of(*last) != title_of(*row))
      fmt::print("\n");
    last = row;
    const Checked& by = checked_on_hardware(*row);
    checked += by.any();
    print_line({pattern_of(*row), &isa::form_of(*row), to_string(by)});
  }
  fmt::print("\n{} instruction{}, {} of them checked against recorded bits of hardware\n", rows.size(),
             rows.size() == 1 ? "" : "s", checked);
}

bool is_matrix_form(const isa::Form& form) {
  return std::any_of(isa::matrix_rows().begin(), isa::matrix_rows().end(),
                     [&](const isa::MatrixRow& row) { return row.opcode == form.opcode; });
}

// The forms of all other instructions that the words fit, in the ISA's notation.
std::vector<const isa::Form*> other_forms(const std::vector<std::string>& words) {
  std::vector<const isa::Form*> forms;
  for (const isa::Form& form : isa::forms()) {
    const auto fits = [&](const std::string& word) {
      if (const auto target = isa::parse_target(word))
        return form.targets.any_of.empty() || form.targets.contains(*target);
      return (isa::syntax_of(form) + " " + isa::where_of(form)).find(word) != std::string::npos;
    };
    if (!is_matrix_form(form) && std::all_of(words.begin(), words.end(), fits))
      forms.push_back(&form);
  }
  return forms;
}

std::string head_of(const isa::Form& form) {
  const std::string syntax = isa::syntax_of(form);
  return syntax.substr(0, syntax.find(' '));
}

void print_forms(const std::vector<const isa::Form*>& forms) {
  print_head();
  bool approximate = false;
  for (const isa::Form* form : forms) {
    const std::vector<numeric::Mufu> functions = approximate_functions(*form);
    const std::string also =
        functions.empty() ? "" : fmt::format(".approx: {}", numeric::checked_inputs(functions.front()));
    print_line({head_of(*form), form, to_string(checked_on_hardware(*form)), also});
    approximate |= !functions.empty();
  }
  fmt::print("\n{} forms, in the notation of the PTX ISA's own syntax\n", forms.size());
  if (approximate)
    fmt::print("Approximate functions were checked on sm_90; every other machine is assumed to have the same "
               "bits.\n");
}

// --- The support matrix for docs ---

void print_markdown(const std::vector<const isa::MatrixRow*>& rows) {
  fmt::print(
      "<!-- Written by `lemma isa --markdown > docs/isa.md`; a test compares it with the catalogue. -->\n"
      "# Matrix instructions\n\n"
      "Every warp- and warpgroup-level matrix instruction of the PTX ISA that Lemma knows, where it runs, "
      "and\n"
      "how it was checked: how many recorded cases of real hardware execute it, bit for bit as the virtual\n"
      "GPU does ([recorded-bits.md](recorded-bits.md)). `lemma isa NAME` explains one; `lemma layout NAME`\n"
      "draws it. Braces stand for a choice, `{{.x}}` for a modifier that may be left out. Targets: sm_80+ "
      "and up,\n"
      "sm_90a alone, sm_100f its family.\n");
  std::string head;
  for (const isa::MatrixRow* row : rows) {
    const std::string pattern = pattern_of(*row);
    const std::string title = title_of(*row);
    if (title != head)
      fmt::print("\n## {}\n\n| instruction | targets | PTX | checked |\n|---|---|---|---|\n", title);
    head = title;
    const isa::Form& form = isa::form_of(*row);
    fmt::print("| `{}` | {} | {}.{} | {} |\n", pattern, fmt::join(target_words_of(form.targets), ", "),
               form.since.major, form.since.minor, to_string(checked_on_hardware(*row)));
  }
  fmt::print("\n## Approximate functions\n\n"
             "On how many inputs the virtual GPU's bits were compared with those of an H200. Packed forms "
             "(`.f16x2`,\n"
             "`.bf16x2`) are two of these; `sin` and `cos` are the same with `.ftz`. `lemma isa --all` lists "
             "all other "
             "forms.\n\n"
             "| instruction | sm_90 | other machines |\n|---|---|---|\n");
  for (int f = 0; f < numeric::kMufuForms; ++f) {
    const auto function = static_cast<numeric::Mufu>(f);
    fmt::print("| `{}` | {} | assumed to be the same |\n", numeric::to_string(function),
               numeric::checked_inputs(function));
  }
}

// --- The command ---

int run_isa(const IsaOptions& options) {
  if (options.nvgpu)
    return print_nvgpu_support(options.words, options.json);
  const std::vector<const isa::MatrixRow*> rows = by_title(rows_like(options.words));
  const std::vector<const isa::Form*> forms =
      options.all ? other_forms(options.words) : std::vector<const isa::Form*>();
  for (const std::string& word : options.words)
    if (const auto target = isa::parse_target(word); target && !isa::target_since(*target))
      return refuse(options.json, fmt::format("there is no target {}\n  all: {}", word,
                                              fmt::join(isa::target_words(), " ")));
  if (options.markdown && !rows.empty()) {
    print_markdown(rows);
    return kSuccess;
  }
  // One word that is a name, or fits one row alone.
  if (options.words.size() == 1 && forms.empty() && !isa::parse_target(options.words[0])) {
    auto name = find_matrix(options.words[0]);
    if (!name && rows.size() == 1)
      name = find_matrix(isa::spellings_of(*rows[0]).front());
    if (name) {
      if (options.json)
        JsonOutput().print(explained(*name));
      else
        fmt::print("{}", explanation(*name));
      return kSuccess;
    }
    if (rows.empty()) {
      std::string text = name.error();
      if (!other_forms(options.words).empty())
        text += fmt::format("  other instructions are called so: lemma isa --all {}\n", options.words[0]);
      return refuse(options.json, text);
    }
  }
  if (rows.empty() && forms.empty())
    return refuse(options.json,
                  fmt::format("no instruction fits {}\n  all: lemma isa", fmt::join(options.words, " and ")));
  if (options.json) {
    nlohmann::json list = nlohmann::json::array(), others = nlohmann::json::array();
    for (const isa::MatrixRow* row : rows)
      list.push_back(summary(*row));
    for (const isa::Form* form : forms)
      others.push_back(summary(*form));
    nlohmann::json object = {{"instructions", std::move(list)}};
    if (options.all)
      object["other_forms"] = std::move(others);
    JsonOutput().print(object);
    return kSuccess;
  }
  if (!rows.empty())
    print_rows(rows);
  if (!forms.empty()) {
    if (!rows.empty())
      fmt::print("\n");
    print_forms(forms);
  }
  return kSuccess;
}

} // namespace

Command add_isa(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("isa", "list the matrix instructions, or explain one");
  const auto options = std::make_shared<IsaOptions>();
  app->add_option("WORD", options->words, "what the list must fit, or a name");
  CLI::Option* all = app->add_flag("--all", options->all, "the forms of all other instructions too");
  CLI::Option* nvgpu = app->add_flag(
      "--nvgpu", options->nvgpu, "the operations of the nvgpu dialect, and what each of their forms can do");
  CLI::Option* json = app->add_flag("--json", options->json, "print one JSON object instead");
  app->add_flag("--markdown", options->markdown, "the support matrix of docs/isa.md")
      ->excludes(all)
      ->excludes(nvgpu)
      ->excludes(json);
  nvgpu->excludes(all);
  app->footer(kFooter);
  return {app, [options] { return run_isa(*options); }};
}

} // namespace lemma::cli
