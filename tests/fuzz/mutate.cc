// mutate_front_end [--inputs N] [--seed N] FILE_OR_FOLDER...
// Mutates the seeds N times, the same way for the same seed, and checks the front end on each. Every seed
// must be accepted as it is. An input that fails is written to failed.ptx. Not a substitute for libFuzzer:
// nothing is learned from one input to the next.
#include "front_end.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

using lemma::fuzz::Verdict;

constexpr size_t kLongestInput = 1 << 14;
constexpr double kSlowestInput = 10; // seconds: more is a hang

std::string current; // what is being checked, for the handler below

void save_current() {
  const int file = open("failed.ptx", O_WRONLY | O_CREAT | O_TRUNC, 0644);
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

constexpr const char* kPieces[] = {"{",
                                   "}",
                                   "(",
                                   ")",
                                   "[",
                                   "]",
                                   ";",
                                   ",",
                                   "<",
                                   ">",
                                   "|",
                                   "!",
                                   "@",
                                   "_",
                                   ".",
                                   ":",
                                   "::",
                                   "\"",
                                   "//",
                                   "/*",
                                   "*/",
                                   "\n",
                                   "+",
                                   "-",
                                   "%r1",
                                   "%p1",
                                   "%rd1",
                                   "%f1",
                                   "sh",
                                   "f",
                                   ".b32",
                                   ".u64",
                                   ".f32",
                                   ".pred",
                                   ".v4",
                                   ".reg",
                                   ".global",
                                   ".shared",
                                   ".param",
                                   ".local",
                                   ".func",
                                   ".entry",
                                   ".align 8",
                                   ".loc 1 2 3",
                                   "bra L;",
                                   "L:",
                                   "mov.b32",
                                   "ret;",
                                   "call",
                                   "WARP_SZ",
                                   "0f3f800000",
                                   "1.0",
                                   "0xffffffffffffffff",
                                   "18446744073709551616",
                                   "-9223372036854775808",
                                   "4294967296",
                                   "%r<3>",
                                   "%r<1000000>",
                                   "[0x7fffffffffffffff]",
                                   ".branchtargets L",
                                   ".callprototype _ ()",
                                   "generic(g)",
                                   "0xFF00(g)",
                                   "%tid.x",
                                   "%tid",
                                   "= {1, 2}",
                                   "? 1 : 2",
                                   "(.u64)"};

class Mutator {
public:
  Mutator(std::vector<std::string> seeds, uint64_t seed) : seeds_(std::move(seeds)), random_(seed) {}

  const std::vector<std::string>& seeds() const { return seeds_; }

  std::string next() {
    std::string text = seeds_[below(seeds_.size())];
    const size_t steps = 1 + below(3);
    for (size_t i = 0; i < steps; ++i)
      step(text);
    text.resize(std::min(text.size(), kLongestInput));
    return text;
  }

private:
  size_t below(size_t n) { return n == 0 ? 0 : random_() % n; }

  void step(std::string& text) {
    const size_t at = below(text.size() + 1);
    const size_t length = std::min(text.size() - at, size_t{1} << below(8));
    if (below(2) == 0)
      return mild_step(text, at);
    switch (below(9)) {
    case 0: // one byte
      if (at < text.size())
        text[at] = static_cast<char>(random_());
      break;
    case 1:
      text.erase(at, length);
      break;
    case 2:
      text.insert(at, text.substr(at, length));
      break;
    case 3:
    case 4:
      text.insert(at, kPieces[below(std::size(kPieces))]);
      break;
    case 5: // a piece in the place of a word
      text.replace(at, std::min<size_t>(length, 6), kPieces[below(std::size(kPieces))]);
      break;
    case 6: { // a part of another seed
      const std::string& other = seeds_[below(seeds_.size())];
      text.insert(at, other.substr(below(other.size()), size_t{1} << below(8)));
      break;
    }
    case 7: { // one piece, many times
      const std::string piece = kPieces[below(std::size(kPieces))];
      std::string many;
      for (size_t i = size_t{1} << below(11); i > 0; --i)
        many += piece;
      text.insert(at, many);
      break;
    }
    default: // cut
      text.resize(at);
      break;
    }
  }

  // Likely to leave the text well formed: a statement twice, elsewhere or gone, a word for another word of
  // the text.
  void mild_step(std::string& text, size_t at) {
    const auto statement = [&](size_t inside) {
      const size_t before = text.find_last_of(";{}", inside);
      const size_t begin = before == std::string::npos ? 0 : before + 1;
      const size_t end = text.find(';', begin);
      return std::pair(begin, end == std::string::npos ? text.size() - begin : end + 1 - begin);
    };
    const auto word = [&](size_t inside) {
      constexpr const char* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%$_.";
      const size_t begin = std::min(text.find_first_of(letters, inside), text.size());
      return std::pair(begin, std::min(text.find_first_not_of(letters, begin), text.size()) - begin);
    };
    const auto [from, length] = statement(at);
    const std::string moved = text.substr(from, length);
    switch (below(4)) {
    case 0:
      text.insert(statement(below(text.size() + 1)).first, moved);
      break;
    case 1:
      text.erase(from, length);
      break;
    case 2:
      text.insert(from, moved);
      break;
    default: {
      const auto [source, source_length] = word(below(text.size() + 1));
      const std::string other = text.substr(source, source_length);
      const auto [target, target_length] = word(at);
      text.replace(target, target_length, other);
      break;
    }
    }
  }

  std::vector<std::string> seeds_;
  std::mt19937_64 random_;
};

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

int fail(const std::string& why) {
  save_current();
  fmt::print(stderr, "{}\nthe input is in failed.ptx\n", why);
  return 1;
}

} // namespace

int main(int argc, char** argv) {
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

  Mutator mutator(std::move(seeds), seed);
  for (size_t i = 0; i < mutator.seeds().size(); ++i) {
    current = mutator.seeds()[i];
    const Verdict verdict = lemma::fuzz::check_front_end(current);
    if (!verdict.accepted || !verdict.failure.empty())
      return fail(fmt::format("the seed {} is not accepted: {}", files[i].string(), verdict.failure));
  }
  uint64_t accepted = 0;
  double slowest = 0;
  for (uint64_t i = 0; i < inputs; ++i) {
    current = mutator.next();
    const auto begin = std::chrono::steady_clock::now();
    const Verdict verdict = lemma::fuzz::check_front_end(current);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    slowest = std::max(slowest, seconds);
    accepted += verdict.accepted;
    if (!verdict.failure.empty())
      return fail(fmt::format("input {} of seed {}: {}", i, seed, verdict.failure));
    if (seconds > kSlowestInput)
      return fail(fmt::format("input {} of seed {} took {} s", i, seed, seconds));
  }
  fmt::print("{} inputs from {} seeds: {} accepted, {} refused; slowest {:.3f} s\n", inputs,
             mutator.seeds().size(), accepted, inputs - accepted, slowest);
  return accepted > 0 && accepted < inputs ? 0 : fail("every input met the same fate");
}
