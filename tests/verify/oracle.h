// ptxas as the judge of what is legal: of whole modules, of instructions, of mutants.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace lemma::verify_test {

// Calls work(i) for each i below the count, on all cores.
template <class Work>
void on_all_cores(size_t count, Work work) {
  std::atomic<size_t> next = 0;
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++)
        work(i);
    });
}

// What is none below: neither is there a ptxas, nor are its answers recorded (tests/ptxas).

// For the module, "-c -O0 -arch=sm_90a"; without -c where it says `// whole program`, which it then is, and
// has to fit its machine, and where its PTX version is older than that.
std::string options_for(const std::string& module, const std::string& target);

// Whether ptxas accepts the module with these options. A crash of ptxas counts as a refusal.
std::optional<bool> ptxas_accepts(const std::string& module, const std::string& target);

// An instruction in a module of that target and version.
struct Probe {
  std::string instruction;
  std::string target;
  std::string version; // "8.7"
};

// What ptxas says of each probe. Probes of one target and version share a module, of which ptxas names the
// illegal lines; whatever is left has to assemble. On all cores.
std::optional<std::vector<bool>> judge(const std::vector<Probe>& probes);

// The same by parser and verifier; `why` is the first error.
bool lemma_accepts(const Probe& probe, std::string* why = nullptr);
bool lemma_accepts_module(const std::string& text, std::string* why = nullptr);

// Mutants are judged in this version.
inline constexpr std::string_view kMutantVersion = "9.0";

// One judged instruction; module_of() makes its module.
struct Verdict {
  bool legal = false;
  std::string target; // "sm_90a"
  std::string kind;   // of mutation
  std::string instruction;
};

// Lines "ok|bad TAB target TAB kind TAB instruction"; # begins a comment. Empty when the file is not there.
std::vector<Verdict> read_verdicts(const std::string& path);
std::string to_line(const Verdict& verdict);

// `count` mutants of the scalar forms of a target, judged by ptxas on all cores.
std::optional<std::vector<Verdict>> judge_mutants(uint64_t seed, int count, const std::string& target);

// Whether parser and verifier accept the instruction; `why` is the first error.
bool lemma_accepts(const Verdict& verdict, std::string* why = nullptr);

} // namespace lemma::verify_test
