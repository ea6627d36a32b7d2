// Starting ptxas takes longer than judging a line, so probes of one target and version are one module: the
// lines that it names are wrong, the rest is asked again, and where it names none the group is halved
// (judge_group). Threads share the groups.
#include "oracle.h"

#include "generate/sampler.h"
#include "isa/machine.h"
#include "isa/target.h"
#include "ptx/parser.h"
#include "ptxas/ptxas.h"
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <map>
#include <sstream>

namespace lemma::verify_test {

using namespace generate;

namespace {

// ptxas 13 makes code for no machine below sm_75, and knows none by an earlier name, but reads modules for
// them.
std::string machine_for(const std::string& target) {
  constexpr int kFirstSm = 75;
  const auto parsed = isa::parse_target(target);
  if (!parsed)
    return target;
  return parsed->sm < kFirstSm ? "sm_75"
                               : to_string(isa::Target{isa::number_now(parsed->sm), parsed->suffix});
}

std::optional<ptxas::Answer> assemble(const std::string& module, const std::string& target) {
  return ptxas::ask(module, options_for(module, target));
}

// Of the module's own lines.
bool is_compiled_whole(const std::string& module) {
  constexpr std::string_view kVersion = ".version ", kFirstCompiled = "3.1"; // with -c
  const size_t at = module.find(kVersion);
  return module.find("// whole program") != std::string::npos ||
         (at != module.npos && module.substr(at + kVersion.size(), 3) < kFirstCompiled);
}

// Probes `members` are of one target and version. False: nobody answers.
bool judge_group(const std::vector<Probe>& probes, std::vector<size_t> members, std::vector<char>& legal) {
  while (!members.empty()) {
    std::string body;
    for (const size_t i : members)
      body += (body.empty() ? "" : "\n") + probes[i].instruction;
    const Probe& any = probes[members.front()];
    const std::string module = module_of(body, any.target, any.version);
    const auto before = static_cast<size_t>(
        std::count(module.begin(), module.begin() + static_cast<std::ptrdiff_t>(module.find(body)), '\n'));
    const auto answer = assemble(module, any.target);
    if (!answer)
      return false;
    if (answer->accepts) {
      for (const size_t i : members)
        legal[i] = 1;
      return true;
    }
    std::vector<size_t> rest;
    for (size_t i = 0; i < members.size(); ++i)
      if (!answer->wrong_lines.contains(before + 1 + i))
        rest.push_back(members[i]);
    if (rest.size() == members.size()) { // something that no line is named for
      if (members.size() == 1)
        return true;
      const auto half = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
      return judge_group(probes, {members.begin(), half}, legal) &&
             judge_group(probes, {half, members.end()}, legal);
    }
    members = std::move(rest);
  }
  return true;
}

} // namespace

std::string options_for(const std::string& module, const std::string& target) {
  return fmt::format("{}-O0 -arch={}", is_compiled_whole(module) ? "" : "-c ", machine_for(target));
}

std::optional<std::vector<bool>> judge(const std::vector<Probe>& probes) {
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> groups;
  for (size_t i = 0; i < probes.size(); ++i)
    groups[{probes[i].target, probes[i].version}].push_back(i);
  std::vector<std::vector<size_t>> work;
  for (auto& [key, members] : groups)
    work.push_back(std::move(members));
  std::vector<char> legal(probes.size());
  std::atomic<bool> answered = true;
  on_all_cores(work.size(), [&](size_t i) {
    if (!judge_group(probes, work[i], legal))
      answered = false;
  });
  if (!answered)
    return std::nullopt;
  return std::vector<bool>(legal.begin(), legal.end());
}

std::optional<bool> ptxas_accepts(const std::string& module, const std::string& target) {
  const auto answer = assemble(module, target);
  return answer ? std::optional(answer->accepts) : std::nullopt;
}

std::vector<Verdict> read_verdicts(const std::string& path) {
  std::vector<Verdict> verdicts;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#')
      continue;
    std::istringstream fields(line);
    std::string legal;
    Verdict v;
    std::getline(fields, legal, '\t');
    std::getline(fields, v.target, '\t');
    std::getline(fields, v.kind, '\t');
    std::getline(fields, v.instruction);
    v.legal = legal == "ok";
    verdicts.push_back(std::move(v));
  }
  return verdicts;
}

std::string to_line(const Verdict& v) {
  return fmt::format("{}\t{}\t{}\t{}", v.legal ? "ok" : "bad", v.target, v.kind, v.instruction);
}

std::optional<std::vector<Verdict>> judge_mutants(uint64_t seed, int count, const std::string& target) {
  Rng rng(seed);
  std::vector<const isa::Form*> forms;
  for (const isa::Form& form : isa::forms())
    if (is_scalar(form.opcode) && form.targets.contains(isa::parse_target(target).value_or(isa::Target{})))
      forms.push_back(&form);
  std::vector<Verdict> verdicts;
  while (verdicts.size() < static_cast<size_t>(count)) {
    const auto text = sample(*rng.pick(forms), rng);
    if (!text)
      continue;
    const Mutant mutant = mutate(*text, rng);
    if (mutant.text.str() != text->str())
      verdicts.push_back({false, target, mutant.kind, mutant.text.str()});
  }
  std::atomic<bool> answered = true;
  on_all_cores(verdicts.size(), [&](size_t i) {
    const auto accepts = ptxas_accepts(module_of(verdicts[i].instruction, target, kMutantVersion), target);
    verdicts[i].legal = accepts.value_or(false);
    if (!accepts)
      answered = false;
  });
  if (!answered)
    return std::nullopt;
  return verdicts;
}

bool lemma_accepts(const Probe& probe, std::string* why) {
  return lemma_accepts_module(module_of(probe.instruction, probe.target, probe.version), why);
}

bool lemma_accepts_module(const std::string& text, std::string* why) {
  const auto outcome = ptx::parse(std::make_shared<SourceText>("probe.ptx", text));
  Diagnostics diagnostics = outcome.diagnostics;
  if (!has_errors(diagnostics))
    for (Diagnostic& d : verify::verify(*outcome.module))
      diagnostics.push_back(std::move(d));
  for (const Diagnostic& d : diagnostics)
    if (d.severity != Severity::warning) {
      if (why)
        *why = fmt::format("{}: {}", d.id, d.message);
      return false;
    }
  return true;
}

bool lemma_accepts(const Verdict& verdict, std::string* why) {
  return lemma_accepts(Probe{verdict.instruction, verdict.target, std::string(kMutantVersion)}, why);
}

} // namespace lemma::verify_test
