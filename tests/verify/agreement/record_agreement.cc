// Asks ptxas about instructions on many targets and versions, and prints what it says (agreement.h).
//
//   record_agreement SPELLINGS... > verdicts.txt               ptxas of CUDA 13.0, minutes; written.txt last
//   record_agreement --directives MODULES > directive_verdicts.txt
//
// Of each instruction at most 100 judgements are kept, as many of instructions that are legal as of such that
// are not where there are both: of the spellings in the files and as many from Lemma's rows, on a random
// target in a random version that has the target. What ptxas takes on no target at all is left out: it is no
// instruction. (The lines of the last file are kept all the same.)
#include "agreement.h"

#include "generate/sampler.h"
#include "isa/form.h"
#include "isa/target.h"
#include "ptxas/ptxas.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace {

using namespace lemma;
using namespace lemma::verify_test;
using generate::Rng;

constexpr size_t kSpellings = 40; // of an instruction that are tried
constexpr size_t kProbes = 450;   // of an instruction that are asked about
constexpr size_t kKept = 100;     // of an instruction
constexpr const char* kTargets[] = {
    "sm_35",  "sm_50",   "sm_60",   "sm_70",   "sm_75",  "sm_80",   "sm_86",   "sm_89",  "sm_90",   "sm_90a",
    "sm_100", "sm_100a", "sm_100f", "sm_103a", "sm_110", "sm_110a", "sm_110f", "sm_120", "sm_120a", "sm_121a",
    "sm_101", "sm_101a", "sm_103f", "sm_120f", "sm_88",  "sm_107",  "sm_107a", "sm_107f"};
constexpr const char* kVersions[] = {"4.1", "5.0", "6.0", "6.2", "6.4", "6.5", "7.0", "7.1",
                                     "7.4", "7.5", "7.8", "8.0", "8.1", "8.3", "8.4", "8.6",
                                     "8.7", "8.8", "9.0", "9.1", "9.2", "9.3", "9.4", "9.5"};

isa::IsaVersion parse_version(std::string_view text) {
  return {text[0] - '0', text[2] - '0'};
}

bool has_target(std::string_view version, std::string_view target) {
  const auto since = isa::target_since(*isa::parse_target(target));
  return since && *since <= parse_version(version);
}

// Instruction -> spellings, sources in turns.
std::map<std::string, std::vector<std::string>> read_spellings(int files, char** names, Rng& rng) {
  std::map<std::string, std::vector<std::vector<std::string>>> by_source;
  const auto add = [&](size_t source, const std::string& text) {
    auto& sources = by_source[instruction_of(text)];
    sources.resize(static_cast<size_t>(files) + 1);
    sources[source].push_back(text);
  };
  for (int f = 0; f < files; ++f)
    for (const std::string& line : read_lines(names[f]))
      add(static_cast<size_t>(f), line);
  for (const isa::Form& form : isa::forms())
    for (int n = 0; n < 4; ++n)
      if (const auto text = generate::sample(form, rng))
        add(static_cast<size_t>(files), text->str());

  std::map<std::string, std::vector<std::string>> spellings;
  for (auto& [instruction, sources] : by_source) {
    std::vector<std::string>& chosen = spellings[instruction];
    std::set<std::string> known;
    bool more = true;
    while (more && chosen.size() < kSpellings) {
      more = false;
      for (std::vector<std::string>& source : sources) {
        if (source.empty())
          continue;
        more = true;
        const size_t i = rng.below(source.size());
        if (chosen.size() < kSpellings && known.insert(source[i]).second)
          chosen.push_back(source[i]);
        source.erase(source.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
  return spellings;
}

// Those that ptxas takes somewhere, in the newest version, or that are to be kept.
void drop_illegal(const std::vector<std::string>& to_keep,
                  std::map<std::string, std::vector<std::string>>& spellings) {
  std::vector<Probe> probes;
  for (const auto& [instruction, texts] : spellings)
    for (const std::string& text : texts)
      for (const char* target : {"sm_75", "sm_90a", "sm_100a", "sm_103a", "sm_110a", "sm_120a"})
        probes.push_back({text, target, "9.0"});
  const std::vector<bool> legal = judge(probes).value();
  std::set<std::string> known(to_keep.begin(), to_keep.end());
  for (size_t i = 0; i < probes.size(); ++i)
    if (legal[i])
      known.insert(probes[i].instruction);
  for (auto& [instruction, texts] : spellings)
    std::erase_if(texts, [&](const std::string& text) { return !known.contains(text); });
}

std::vector<Probe> make_probes(const std::map<std::string, std::vector<std::string>>& spellings, Rng& rng) {
  std::vector<Probe> probes;
  for (const auto& [instruction, texts] : spellings) {
    std::set<std::string> known;
    for (size_t n = 0; n < kProbes && !texts.empty(); ++n) {
      Probe probe{rng.pick(texts), rng.pick(kTargets), rng.pick(kVersions)};
      while (!has_target(probe.version, probe.target))
        probe.version = rng.pick(kVersions);
      if (known.insert(probe.instruction + probe.target + probe.version).second)
        probes.push_back(probe);
    }
  }
  return probes;
}

// At most kKept of each instruction, half of them legal if there are as many.
std::vector<Judgement> choose(std::vector<Probe> probes, const std::vector<bool>& legal) {
  std::map<std::string, std::vector<Judgement>> kinds[2];
  for (size_t i = 0; i < probes.size(); ++i)
    kinds[legal[i]][instruction_of(probes[i].instruction)].push_back({probes[i], legal[i]});
  std::vector<Judgement> kept;
  std::set<std::string> instructions;
  for (const auto& kind : kinds)
    for (const auto& [instruction, judgements] : kind)
      instructions.insert(instruction);
  for (const std::string& instruction : instructions) {
    const std::vector<Judgement>& bad = kinds[0][instruction];
    const std::vector<Judgement>& ok = kinds[1][instruction];
    const size_t most_bad = std::min(bad.size(), std::max(kKept / 2, kKept - std::min(kKept, ok.size())));
    const size_t most_ok = std::min(ok.size(), kKept - most_bad);
    kept.insert(kept.end(), bad.begin(), bad.begin() + static_cast<std::ptrdiff_t>(most_bad));
    kept.insert(kept.end(), ok.begin(), ok.begin() + static_cast<std::ptrdiff_t>(most_ok));
  }
  return kept;
}

// Every module on eight targets and versions: those where something may have begun, and random ones.
std::vector<Judgement> judge_modules(const std::vector<DirectiveModule>& modules, Rng& rng) {
  constexpr size_t kEach = 10;
  std::vector<Judgement> judgements;
  std::vector<const DirectiveModule*> module_of;
  for (const DirectiveModule& module : modules) {
    std::set<std::string> known;
    // ptxas 13 makes no 32-bit code at all: what it says means nothing where an earlier one did.
    const bool narrow = module.body.starts_with("%address 32");
    const auto ask = [&](std::string target, std::string version) {
      if (narrow && isa::parse_target(target)->sm < 75)
        return;
      if (has_target(version, target) && known.insert(target + version).second) {
        judgements.push_back({{module.name, std::move(target), std::move(version)}, false});
        module_of.push_back(&module);
      }
    };
    ask("sm_90a", "9.0");
    ask("sm_75", "9.0");
    if (module.name == "empty") // versions that there are none of
      for (const char* version : {"4.4", "5.2", "6.6", "7.9", "8.9"})
        ask("sm_35", version);
    for (const size_t asked = known.size(); known.size() < asked + kEach - 2;)
      ask(rng.pick(kTargets), rng.pick(kVersions));
  }
  on_all_cores(judgements.size(), [&](size_t i) {
    const Probe& probe = judgements[i].probe;
    judgements[i].legal =
        ptxas_accepts(text_of(*module_of[i], probe.target, probe.version), probe.target).value();
  });
  return judgements;
}

} // namespace

int main(int argc, char** argv) {
  if (ptxas::find().empty()) {
    std::fprintf(stderr, "no ptxas\n");
    return 1;
  }
  Rng rng(1);
  if (argc == 3 && std::string_view(argv[1]) == "--directives") {
    const std::vector<Judgement> judgements = judge_modules(read_modules(argv[2]), rng);
    std::printf("# Recorded by record_agreement --directives with ptxas of CUDA 13.0; see agreement.h.\n%s",
                to_text(judgements).c_str());
    return 0;
  }
  auto spellings = read_spellings(argc - 1, argv + 1, rng);
  drop_illegal(argc > 1 ? read_lines(argv[argc - 1]) : std::vector<std::string>(), spellings);
  const std::vector<Probe> probes = make_probes(spellings, rng);
  const std::vector<Judgement> kept = choose(probes, judge(probes).value());
  const auto bad = std::count_if(kept.begin(), kept.end(), [](const Judgement& j) { return !j.legal; });
  std::fprintf(stderr, "%zu instructions, %zu asked, %zu kept, of them %td refused\n", spellings.size(),
               probes.size(), kept.size(), bad);
  std::printf("# Recorded by record_agreement with ptxas of CUDA 13.0; see agreement.h.\n%s",
              to_text(kept).c_str());
}
