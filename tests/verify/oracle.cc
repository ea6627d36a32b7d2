// Starting ptxas takes longer than judging a line, so probes of one target and version are one module: the
// lines that it names are wrong, the rest is asked again, and where it names none the group is halved
// (judge_group). Threads share the groups.
#include "oracle.h"

#include "generate/sampler.h"
#include "isa/machine.h"
#include "isa/target.h"
#include "ptx/parser.h"
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace lemma::verify_test {

using namespace generate;

namespace {

std::string temporary_file() {
  static std::atomic<int> number = 0;
  return (std::filesystem::temp_directory_path() / fmt::format("lemma-mutant-{}-{}.ptx", getpid(), number++))
      .string();
}

} // namespace

std::string find_ptxas() {
  if (const char* given = std::getenv("PTXAS"))
    return given;
  const char* const folders = std::getenv("PATH");
  std::istringstream path(folders ? folders : "");
  for (std::string folder; std::getline(path, folder, ':');)
    if (std::filesystem::exists(folder + "/ptxas"))
      return folder + "/ptxas";
  const std::string toolkit = "/usr/local/cuda/bin/ptxas";
  return std::filesystem::exists(toolkit) ? toolkit : "";
}

namespace {

// What ptxas prints, and whether it accepts.
struct Output {
  bool accepts = false;
  std::string text;
};

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

Output assemble(const std::string& ptxas, const std::string& module, const std::string& target) {
  const std::string file = temporary_file();
  std::ofstream(file) << module;
  const std::string command = fmt::format("'{}' {} -O0 -arch={} '{}' -o /dev/null 2>&1", ptxas,
                                          module.find("// whole program") == std::string::npos ? "-c" : "",
                                          machine_for(target), file);
  Output output;
  if (FILE* pipe =
          popen(command.c_str(), "r")) { // NOLINT(bugprone-command-processor): a test's own file names
    char buffer[4096];
    while (const size_t bytes = fread(buffer, 1, sizeof buffer, pipe))
      output.text.append(buffer, bytes);
    output.accepts = pclose(pipe) == 0;
  }
  std::filesystem::remove(file);
  return output;
}

// The lines that ptxas calls wrong, counted from 1.
std::set<size_t> wrong_lines(const std::string& output) {
  std::set<size_t> lines;
  constexpr std::string_view mark = ", line ";
  for (size_t at = output.find(mark); at != std::string::npos; at = output.find(mark, at + 1)) {
    size_t end = 0;
    const size_t line = std::stoul(output.substr(at + mark.size()), &end);
    if (output.compare(at + mark.size() + end, 3, "; e") == 0 ||
        output.compare(at + mark.size() + end, 3, "; f") == 0)
      lines.insert(line);
  }
  return lines;
}

// Probes `members` are of one target and version.
void judge_group(const std::string& ptxas, const std::vector<Probe>& probes, std::vector<size_t> members,
                 std::vector<char>& legal) {
  while (!members.empty()) {
    std::string body;
    for (const size_t i : members)
      body += (body.empty() ? "" : "\n") + probes[i].instruction;
    const Probe& any = probes[members.front()];
    const std::string module = module_of(body, any.target, any.version);
    const auto before = static_cast<size_t>(
        std::count(module.begin(), module.begin() + static_cast<std::ptrdiff_t>(module.find(body)), '\n'));
    const Output output = assemble(ptxas, module, any.target);
    if (output.accepts) {
      for (const size_t i : members)
        legal[i] = 1;
      return;
    }
    const std::set<size_t> wrong = wrong_lines(output.text);
    std::vector<size_t> rest;
    for (size_t i = 0; i < members.size(); ++i)
      if (!wrong.contains(before + 1 + i))
        rest.push_back(members[i]);
    if (rest.size() == members.size()) { // something that no line is named for
      if (members.size() == 1)
        return;
      const auto half = members.begin() + static_cast<std::ptrdiff_t>(members.size() / 2);
      judge_group(ptxas, probes, {members.begin(), half}, legal);
      judge_group(ptxas, probes, {half, members.end()}, legal);
      return;
    }
    members = std::move(rest);
  }
}

} // namespace

std::vector<bool> judge(const std::string& ptxas, const std::vector<Probe>& probes) {
  std::map<std::pair<std::string, std::string>, std::vector<size_t>> groups;
  for (size_t i = 0; i < probes.size(); ++i)
    groups[{probes[i].target, probes[i].version}].push_back(i);
  std::vector<std::vector<size_t>> work;
  for (auto& [key, members] : groups)
    work.push_back(std::move(members));
  std::vector<char> legal(probes.size());
  std::atomic<size_t> next = 0;
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
      threads.emplace_back([&] {
        for (size_t i = next++; i < work.size(); i = next++)
          judge_group(ptxas, probes, work[i], legal);
      });
  }
  return {legal.begin(), legal.end()};
}

bool ptxas_accepts(const std::string& ptxas, const std::string& module, const std::string& target) {
  return assemble(ptxas, module, target).accepts;
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

std::vector<Verdict> judge_mutants(const std::string& ptxas, uint64_t seed, int count,
                                   const std::string& target) {
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
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i = next++; i < verdicts.size(); i = next++)
      verdicts[i].legal = ptxas_accepts(ptxas, module_of(verdicts[i].instruction, target), target);
  };
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back(work);
  threads.clear(); // joins
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
  return lemma_accepts(Probe{verdict.instruction, verdict.target, "9.0"}, why);
}

} // namespace lemma::verify_test
