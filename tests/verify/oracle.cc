#include "oracle.h"

#include "ptx/parser.h"
#include "sampler.h"
#include "verify/verify.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <unistd.h>

namespace lemma::verify_test {
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
  std::istringstream path(std::getenv("PATH") ? std::getenv("PATH") : "");
  for (std::string folder; std::getline(path, folder, ':');)
    if (std::filesystem::exists(folder + "/ptxas"))
      return folder + "/ptxas";
  const std::string toolkit = "/usr/local/cuda/bin/ptxas";
  return std::filesystem::exists(toolkit) ? toolkit : "";
}

bool ptxas_accepts(const std::string& ptxas, const std::string& module, const std::string& target) {
  const std::string file = temporary_file();
  std::ofstream(file) << module;
  const std::string command =
      fmt::format("'{}' -c -O0 -arch={} '{}' -o /dev/null >/dev/null 2>&1", ptxas, target, file);
  const int status =
      std::system(command.c_str()); // NOLINT(bugprone-command-processor): a test's own file names
  std::filesystem::remove(file);
  return status == 0;
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

bool lemma_accepts(const Verdict& verdict, std::string* why) {
  const auto outcome =
      ptx::parse(std::make_shared<SourceText>("mutant.ptx", module_of(verdict.instruction, verdict.target)));
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

} // namespace lemma::verify_test
