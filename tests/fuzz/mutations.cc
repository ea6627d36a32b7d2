// The driver of mutations: what is checked and how it is mutated are the caller's.
#include "mutations.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <unistd.h>

namespace lemma::fuzz {
namespace {

constexpr const char* kFailed = "failed.input";
constexpr double kSlowestInput = 10; // seconds: more is a hang

std::string current; // what is being checked, for the handler below

void save_current() {
  const int file = open(kFailed, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  if (file >= 0) {
    [[maybe_unused]] const auto written = write(file, current.data(), current.size());
    close(file);
  }
}

extern "C" void on_crash(int signal) {
  save_current();
  std::signal(signal, SIG_DFL);
  raise(signal);
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

int fail(const std::string& why) {
  save_current();
  fmt::print(stderr, "{}\nthe input is in {}\n", why, kFailed);
  return 1;
}

} // namespace

int run_mutations(int argc, char** argv, const Check& check, const Mutate& mutate) {
  uint64_t inputs = 20000, seed = 1;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--inputs" && i + 1 < argc)
      inputs = std::strtoull(argv[++i], nullptr, 10);
    else if (argument == "--seed" && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else if (std::filesystem::is_directory(argument))
      for (const auto& entry : std::filesystem::directory_iterator(argument))
        files.push_back(entry.path());
    else
      files.emplace_back(argument);
  }
  std::sort(files.begin(), files.end());
  std::vector<std::string> seeds;
  for (const auto& file : files)
    seeds.push_back(read(file));
  if (seeds.empty())
    return fail("no seeds");
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL})
    std::signal(signal, on_crash);

  std::mt19937_64 random(seed);
  for (size_t i = 0; i < seeds.size(); ++i) {
    current = seeds[i];
    const Verdict verdict = check(current);
    if (!verdict.accepted || !verdict.failure.empty())
      return fail(fmt::format("the seed {} is not accepted: {}", files[i].string(), verdict.failure));
  }
  uint64_t accepted = 0;
  double slowest = 0;
  for (uint64_t i = 0; i < inputs; ++i) {
    current = mutate(seeds, random);
    const auto begin = std::chrono::steady_clock::now();
    const Verdict verdict = check(current);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    slowest = std::max(slowest, seconds);
    accepted += verdict.accepted;
    if (!verdict.failure.empty())
      return fail(fmt::format("input {} of seed {}: {}", i, seed, verdict.failure));
    if (seconds > kSlowestInput)
      return fail(fmt::format("input {} of seed {} took {} s", i, seed, seconds));
  }
  fmt::print("{} inputs from {} seeds: {} accepted, {} refused; slowest {:.3f} s\n", inputs, seeds.size(),
             accepted, inputs - accepted, slowest);
  return accepted > 0 && accepted < inputs ? 0 : fail("every input met the same fate");
}

} // namespace lemma::fuzz
