// `lemma isa`: the catalogue of matrix instructions as a list, or one of them explained.
//
//   lemma isa                   every matrix instruction: targets, PTX version, how it was checked
//   lemma isa mma.sync bf16     those that all words fit
//   lemma isa NAME              one: operands, registers, who holds what, arithmetic of each machine
//   lemma isa --nvgpu tf32      what forms the dialect's operations have (isa_nvgpu.cc)
//
// Everything printed is asked of lemma/isa.h, so that a new row of the catalogue is listed without a change
// here. isa_text.cc writes one instruction.
//
// Tests: tests/cli/.
#include "isa.h"
#include "isa_nvgpu.h"
#include "isa_text.h"
#include "json_output.h"

#include "lemma/isa.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>

namespace lemma::cli {
namespace {

constexpr const char* kIsaFooter =
    R"(A word is the start or else a part of a spelling, a shell pattern of a whole one, or a target. A name is a full spelling, or enough of
the start of one that no other instruction begins so.
  lemma isa wgmma f16
  lemma isa sm_75
  lemma isa --nvgpu warpgroup.mma e4m3
  lemma isa mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32
  lemma isa tcgen05.mma.cta_group::1.kind::f16.m128n64k16.f32.f16.f16
Names of tcgen05.mma go on with shape and types, which PTX has in the instruction descriptor (lemma descriptor).
Braces stand for a choice, {.x} for a modifier that may be left out, {.ss} for a state space.
Targets: sm_80+ and up, sm_90a alone, sm_100f its family (sm_100a, sm_103a, ...).
F: the fraction bits to which products are cut before they are summed.
Exit status: 0 success; 2 nothing is called so.)";

// --- Lists ---

// Columns of the list, all of 120 characters.
constexpr size_t kTargetsWidth = 17, kPtxWidth = 5, kCheckedWidth = 23;
constexpr size_t kNameWidth = 120 - kTargetsWidth - kPtxWidth - kCheckedWidth - 3;

// sm_80+: and up; sm_90a: alone; sm_100f: its family, of which sm_100a is one.
std::vector<std::string> target_words_of(const std::vector<TargetRange>& targets) {
  std::vector<std::string> words;
  for (const TargetRange& range : targets) {
    const auto is_its_family = [&](const TargetRange& other) {
      return other.target == range.target.substr(0, range.target.size() - 1) + "f";
    };
    if (range.covers == TargetRange::Covers::alone &&
        std::any_of(targets.begin(), targets.end(), is_its_family))
      continue;
    words.push_back(range.target + (range.covers == TargetRange::Covers::up ? "+" : ""));
  }
  if (words.empty())
    words.emplace_back("all");
  return words;
}

struct Line {
  std::string name;
  const Availability* availability = nullptr;
  std::string checked;
  std::string also = {}; // under `checked`
};

// Names and targets that are too long take lines of their own.
void print_line(const Line& line) {
  std::vector<std::string> targets;
  for (const std::string& word : target_words_of(line.availability->targets)) {
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
  const PtxVersion since = line.availability->since;
  for (size_t i = 0; i < targets.size(); ++i)
    if (i == 0)
      fmt::print("{:<{}} {:<{}} {:<{}} {}\n", name, kNameWidth, targets[i], kTargetsWidth,
                 fmt::format("{}.{}", since.major, since.minor), kPtxWidth, line.checked);
    else
      fmt::print("{:<{}} {}\n", "", kNameWidth, targets[i]);
  if (!line.also.empty())
    fmt::print("{:>120}\n", line.also);
}

void print_head() {
  fmt::print("{:<{}} {:<{}} {:<{}} {}\n", "instruction", kNameWidth, "targets", kTargetsWidth, "PTX",
             kPtxWidth, "checked");
}

// Those of one title next to each other, in the order in which the titles come first.
std::vector<MatrixInstruction> by_title(std::vector<MatrixInstruction> all) {
  std::vector<std::string> titles;
  const auto place = [&](const MatrixInstruction& one) {
    return std::find(titles.begin(), titles.end(), one.title) - titles.begin();
  };
  for (const MatrixInstruction& one : all)
    if (place(one) == static_cast<std::ptrdiff_t>(titles.size()))
      titles.push_back(one.title);
  std::stable_sort(all.begin(), all.end(), [&](const MatrixInstruction& one, const MatrixInstruction& other) {
    return place(one) < place(other);
  });
  return all;
}

void print_instructions(const std::vector<MatrixInstruction>& all) {
  print_head();
  const MatrixInstruction* last = nullptr;
  size_t checked = 0;
  for (const MatrixInstruction& one : all) {
    if (last && last->title != one.title)
      fmt::print("\n");
    last = &one;
    checked += one.checked.any();
    print_line({one.pattern, &one.availability, to_string(one.checked)});
  }
  fmt::print("\n{} instruction{}, {} of them checked against recorded bits of hardware\n", all.size(),
             all.size() == 1 ? "" : "s", checked);
}

void print_forms(const std::vector<InstructionForm>& forms) {
  print_head();
  bool approximate = false;
  for (const InstructionForm& form : forms) {
    const std::string also =
        form.approximate.empty() ? "" : fmt::format(".approx: {}", form.approximate.front().checked_inputs);
    print_line(
        {form.syntax.substr(0, form.syntax.find(' ')), &form.availability, to_string(form.checked), also});
    approximate |= !form.approximate.empty();
  }
  fmt::print("\n{} forms, in the notation of the PTX ISA's own syntax\n", forms.size());
  if (approximate)
    fmt::print("Approximate functions were checked on sm_90; every other machine is assumed to have the same "
               "bits.\n");
}

// --- The support matrix for docs ---

void print_markdown(const std::vector<MatrixInstruction>& all) {
  fmt::print(
      "<!-- Written by `lemma isa --markdown > docs/isa.md`; a test compares it with the catalogue. -->\n"
      "# Matrix instructions\n\n"
      "Every warp- and warpgroup-level matrix instruction of the PTX ISA that Lemma knows, where it runs, "
      "and\n"
      "how it was checked: how many recorded cases of real hardware execute it, bit for bit as the virtual\n"
      "GPU does ([recorded-bits.md](recorded-bits.md)). `lemma isa NAME` explains one; `lemma layout NAME`\n"
      "draws it. Braces stand for a choice, `{{.x}}` for a modifier that may be left out. Targets: sm_80+ "
      "and up,\n"
      "sm_90a alone, sm_100f its family; K = 96 of `tcgen05.mma` is sm_103a's alone.\n");
  std::string head;
  for (const MatrixInstruction& one : all) {
    if (one.title != head)
      fmt::print("\n## {}\n\n| instruction | targets | PTX | checked |\n|---|---|---|---|\n", one.title);
    head = one.title;
    const Availability& where = one.availability;
    fmt::print("| `{}` | {} | {}.{} | {} |\n", one.pattern, fmt::join(target_words_of(where.targets), ", "),
               where.since.major, where.since.minor, to_string(one.checked));
  }
  fmt::print("\n## Approximate functions\n\n"
             "On how many inputs the virtual GPU's bits were compared with those of an H200. Packed forms "
             "(`.f16x2`,\n"
             "`.bf16x2`) are two of these; `sin` and `cos` are the same with `.ftz`. `lemma isa --all` lists "
             "all other "
             "forms.\n\n"
             "| instruction | sm_90 | other machines |\n|---|---|---|\n");
  for (const ApproximateFunction& function : approximate_functions())
    fmt::print("| `{}` | {} | assumed to be the same |\n", function.name, function.checked_inputs);
}

// --- The command ---

// One word that is a name, or fits one instruction alone.
std::optional<int> explain(const IsaOptions& options, const std::vector<MatrixInstruction>& fitting) {
  auto description = describe_matrix(options.words[0]);
  if (!description && fitting.size() == 1)
    description = describe_matrix(fitting[0].spellings.front());
  if (description) {
    if (options.json)
      JsonOutput().print(explained(*description));
    else
      fmt::print("{}", explanation(*description));
    return kSuccess;
  }
  if (!fitting.empty())
    return std::nullopt;
  std::string text = description.error().text;
  if (const auto others = instruction_forms(options.words); others && !others->empty())
    text += fmt::format("\n  other instructions are called so: lemma isa --all {}\n", options.words[0]);
  return refuse(options.json, text);
}

int run_isa(const IsaOptions& options) {
  if (options.nvgpu)
    return print_nvgpu_support(options.words, options.json);
  auto found = matrix_instructions(options.words);
  if (!found)
    return refuse(options.json, found.error().text);
  const std::vector<MatrixInstruction> instructions = by_title(*std::move(found));
  std::vector<InstructionForm> forms;
  if (options.all)
    forms = instruction_forms(options.words).value();
  if (options.markdown && !instructions.empty()) {
    print_markdown(instructions);
    return kSuccess;
  }
  const std::vector<std::string> all_targets = targets();
  const bool may_be_name = options.words.size() == 1 && std::find(all_targets.begin(), all_targets.end(),
                                                                  options.words[0]) == all_targets.end();
  if (may_be_name && forms.empty())
    if (const std::optional<int> status = explain(options, instructions))
      return *status;
  if (instructions.empty() && forms.empty())
    return refuse(options.json,
                  fmt::format("no instruction fits {}\n  all: lemma isa", fmt::join(options.words, " and ")));
  if (options.json) {
    nlohmann::json list = nlohmann::json::array(), others = nlohmann::json::array();
    for (const MatrixInstruction& one : instructions)
      list.push_back(summary(one));
    for (const InstructionForm& form : forms)
      others.push_back(summary(form));
    nlohmann::json object = {{"instructions", std::move(list)}};
    if (options.all)
      object["other_forms"] = std::move(others);
    JsonOutput().print(object);
    return kSuccess;
  }
  if (!instructions.empty())
    print_instructions(instructions);
  if (!forms.empty()) {
    if (!instructions.empty())
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
  app->footer(kIsaFooter);
  return {app, [options] { return run_isa(*options); }};
}

} // namespace lemma::cli
