// Asks ptxas about instructions at every target and version, and prints what it says (agreement.h). Minutes.
//
//   record_agreement SPELLINGS... > verdicts.txt             written.txt last
//   record_agreement --all - < SPELLINGS > headers.txt       just these, of spellings_of_headers.py, on the
//                                                            targets of headers()
//   record_agreement --lemma - < SPELLINGS                   the same of parser and verifier
//   record_agreement --against VERDICTS                      what another ptxas, $PTXAS, says otherwise
//   record_agreement --directives MODULES > directive_verdicts.txt
//
// Of each instruction (instruction_of()) there are kKept spellings: of the files in turns with Lemma's rows,
// and a few that are changed by a word, which mostly are legal nowhere. (The lines of the last file are kept
// all.) What names no line but has no code either is left out: its operands are no instruction's.
#include "agreement.h"

#include "agreement/questions.h"
#include "isa/form.h"
#include "isa/target.h"
#include "ptxas/ptxas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <map>
#include <set>

namespace {

using namespace lemma;
using namespace lemma::verify_test;
using generate::Rng;

constexpr size_t kKept = 8;    // spellings of an instruction
constexpr size_t kChanged = 4; // of an opcode, of those that are made by changing a word
constexpr size_t kNowhere = 2; // of an instruction, that are legal nowhere
constexpr const char* kHeader = "# Recorded by record_agreement with ptxas of CUDA 13.5.37: where each "
                                "instruction is legal; see grid.h.\n";

template <class T>
T taken_at_random(std::vector<T>& from, Rng& rng) {
  const size_t i = rng.below(from.size());
  T item = std::move(from[i]);
  from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
  return item;
}

// Instruction -> spellings, sources in turns.
std::map<std::string, std::vector<std::string>> read_spellings(const std::vector<std::string>& files,
                                                               Rng& rng) {
  std::map<std::string, std::vector<std::vector<std::string>>> by_source;
  const auto add = [&](size_t source, const std::string& text) {
    auto& sources = by_source[instruction_of(text)];
    sources.resize(files.size() + 1);
    sources[source].push_back(text);
  };
  for (size_t f = 0; f < files.size(); ++f)
    for (const std::string& line : read_lines(files[f]))
      add(f, line);
  for (const isa::Form& form : isa::forms())
    for (int n = 0; n < 4; ++n)
      if (const auto text = generate::sample(form, rng))
        add(files.size(), text->str());

  std::map<std::string, std::vector<std::string>> spellings;
  for (auto& [instruction, sources] : by_source) {
    std::vector<std::string>& chosen = spellings[instruction];
    std::set<std::string> known;
    for (bool more = true; more && chosen.size() < kKept;) {
      more = false;
      for (std::vector<std::string>& source : sources)
        if (!source.empty() && chosen.size() < kKept) {
          more = true;
          if (std::string text = taken_at_random(source, rng); known.insert(text).second)
            chosen.push_back(std::move(text));
        }
    }
  }
  return spellings;
}

std::vector<std::string> all_instructions(const std::vector<std::string>& files, Rng& rng) {
  std::set<std::string> all;
  for (const auto& [instruction, spellings] : read_spellings(files, rng))
    all.insert(spellings.begin(), spellings.end());
  for (const std::string& line : read_lines(files.back()))
    all.insert(line);
  for (int o = 1; o < isa::kOpcodeCount; ++o) {
    size_t changed = 0;
    for (const Question& question : questions_about(static_cast<isa::Opcode>(o), kChanged, rng))
      if (!question.change.empty() && changed++ < kChanged)
        all.insert(question.text.str());
  }
  return {all.begin(), all.end()};
}

// Without those that are legal to who reads them, but of which no code can be made.
void drop_what_has_no_code(std::vector<Verdicts>& verdicts) {
  std::vector<Probe> probes;
  for (const Verdicts& each : verdicts) {
    const auto last = std::find(each.legal.rbegin(), each.legal.rend(), true);
    if (last == each.legal.rend())
      continue;
    const Point& point = points()[static_cast<size_t>(each.legal.rend() - last) - 1];
    probes.push_back({each.instruction, isa::to_string(point.target),
                      fmt::format("{}.{}", point.version.major, point.version.minor)});
  }
  const std::vector<bool> has_code = judge(probes).value();
  std::set<std::string> without;
  for (size_t i = 0; i < probes.size(); ++i)
    if (!has_code[i])
      without.insert(probes[i].instruction);
  std::erase_if(verdicts, [&](const Verdicts& each) { return without.contains(each.instruction); });
}

int record(const std::vector<std::string>& files) {
  Rng rng(1);
  const std::vector<std::string> instructions = all_instructions(files, rng);
  const std::vector<LegalAt> legal = judged_by_ptxas(instructions, everywhere());
  const std::vector<std::string> written = read_lines(files.back());
  const std::set<std::string> to_keep(written.begin(), written.end());
  std::vector<Verdicts> verdicts;
  std::map<std::string, size_t> nowhere;
  for (size_t i = 0; i < instructions.size(); ++i)
    if (std::find(legal[i].begin(), legal[i].end(), true) != legal[i].end() ||
        to_keep.contains(instructions[i]) || nowhere[instruction_of(instructions[i])]++ < kNowhere)
      verdicts.push_back({instructions[i], legal[i]});
  drop_what_has_no_code(verdicts);
  fmt::print(stderr, "{} instructions asked at {} points, {} kept\n", instructions.size(), points().size(),
             verdicts.size());
  fmt::print("{}{}", kHeader, to_text(verdicts));
  return 0;
}

int record_all(std::istream& in, bool of_lemma) {
  std::vector<std::string> instructions;
  for (std::string line; std::getline(in, line);)
    instructions.push_back(line);
  const std::vector<LegalAt> legal =
      of_lemma ? judged_by_lemma(instructions, headers()) : judged_by_ptxas(instructions, headers());
  std::vector<Verdicts> verdicts;
  for (size_t i = 0; i < instructions.size(); ++i)
    verdicts.push_back({instructions[i], legal[i]});
  fmt::print("{}{}", of_lemma ? "" : kHeader, to_text(verdicts));
  return 0;
}

// Points that the assembler knows: it takes an instruction that is legal everywhere, and names the line of
// one that is none. A target or version that it has not it refuses without a look at either.
std::vector<size_t> known_points() {
  std::vector<size_t> known;
  const auto legal = judged_by_ptxas({"exit;", "no.such.instruction;"}, everywhere());
  for (size_t i = 0; i < points().size(); ++i)
    if (legal[0][i] && !legal[1][i])
      known.push_back(i);
  return known;
}

int compare_with(const std::string& path) {
  const std::vector<Verdicts> verdicts = read_verdicts_on_grid(path);
  const std::vector<size_t> where = known_points();
  std::vector<std::string> instructions;
  for (const Verdicts& each : verdicts)
    instructions.push_back(each.instruction);
  const std::vector<LegalAt> legal = judged_by_ptxas(instructions, where);
  std::vector<Verdicts> otherwise;
  for (size_t i = 0; i < verdicts.size(); ++i) {
    LegalAt there(points().size());
    for (const size_t w : where)
      there[w] = verdicts[i].legal[w];
    if (there != legal[i])
      otherwise.push_back({instructions[i], legal[i]});
  }
  fmt::print(stderr, "{} points known, {} of {} instructions otherwise\n", where.size(), otherwise.size(),
             verdicts.size());
  fmt::print("{}", to_text(otherwise));
  return 0;
}

// Every module at some targets and versions: those where something may have begun, and random ones.
std::vector<Judgement> judge_modules(const std::vector<DirectiveModule>& modules, Rng& rng) {
  constexpr size_t kEach = 12;
  std::vector<Judgement> judgements;
  std::vector<const DirectiveModule*> module_of;
  for (const DirectiveModule& module : modules) {
    std::set<std::string> known;
    // ptxas 13 makes no 32-bit code at all: what it says means nothing where an earlier one did.
    const bool narrow = module.body.starts_with("%address 32");
    const auto ask = [&](std::string target, std::string version) {
      if (narrow && isa::parse_target(target)->sm < 75)
        return;
      if (known.insert(target + version).second) {
        judgements.push_back({{module.name, std::move(target), std::move(version)}, false});
        module_of.push_back(&module);
      }
    };
    for (const char* version : {"8.3", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5"})
      ask("sm_90a", version);
    for (const char* target : {"sm_75", "sm_80", "sm_107a"})
      ask(target, "9.5");
    if (module.name == "empty") // versions that there are none of
      for (const char* version : {"4.4", "5.2", "6.6", "7.9", "8.9"})
        ask("sm_35", version);
    for (const size_t asked = known.size(); known.size() < asked + kEach - 10;) {
      const Point& point = rng.pick(points());
      ask(isa::to_string(point.target), fmt::format("{}.{}", point.version.major, point.version.minor));
    }
  }
  on_all_cores(judgements.size(), [&](size_t i) {
    const Probe& probe = judgements[i].probe;
    const std::string text = text_of(*module_of[i], probe.target, probe.version);
    judgements[i].legal = ptxas::read(text, options_for(text, probe.target)).succeeded;
  });
  return judgements;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2 || ptxas::find().empty()) {
    fmt::print(stderr, "usage: record_agreement [--directives | --against] FILE..., with a ptxas\n");
    return 2;
  }
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words[0] == "--against" && words.size() == 2)
    return compare_with(words[1]);
  if (words[0] == "--all" || words[0] == "--lemma")
    return record_all(std::cin, words[0] == "--lemma");
  if (words[0] != "--directives")
    return record(words);
  Rng rng(1);
  fmt::print("# Recorded by record_agreement --directives with ptxas of CUDA 13.5.37; see agreement.h.\n{}",
             to_text(judge_modules(read_modules(words.at(1)), rng)));
  return 0;
}
