// A line of results.txt is the hash of what a row left, and the row's name. The virtual GPU's results are the
// same on every host; nothing in a row's memory may depend on how long something took.
#include "moment.h"

#include "numeric/hash.h"

#include <fmt/format.h>

#include <cstdlib>
#include <fstream>
#include <map>

namespace lemma::bench {
namespace {

constexpr const char* kFile = LEMMA_BENCH "/results.txt";

struct Moment {
  bool on = false;
  std::string write_to, left; // what the row's kernels have left so far: their hashes
  std::map<std::string, std::string> results;
};

Moment& moment() {
  static Moment one;
  return one;
}

} // namespace

void begin_moment(const std::string& write_to) {
  moment().on = true;
  moment().write_to = write_to;
  if (!write_to.empty())
    return;
  std::ifstream file(kFile);
  for (std::string line; std::getline(file, line);)
    if (const size_t space = line.find(' '); !line.starts_with('#') && space != std::string::npos)
      moment().results[line.substr(space + 1)] = line.substr(0, space);
  if (moment().results.empty()) {
    fmt::print(stderr, "lemma_bench: cannot read {}\n", kFile);
    std::exit(1);
  }
}

bool is_moment() {
  return moment().on;
}

void leave(std::span<const std::byte> bytes) {
  if (is_moment())
    moment().left += to_string(numeric::hash128(bytes.data(), bytes.size()));
}

std::string end_row(const std::string& name) {
  Moment& m = moment();
  if (m.left.empty())
    return {};
  const std::string hash = to_string(numeric::hash128(m.left.data(), m.left.size())).substr(0, 16);
  m.left.clear();
  if (!m.write_to.empty()) {
    m.results[name] = hash;
    return {};
  }
  const auto known = m.results.find(name);
  if (known == m.results.end())
    return fmt::format("FAILED: no result of it in {} (lemma_bench --moment --write FILE)", kFile);
  return known->second == hash ? "" : "FAILED: the kernel's result is another than the one in results.txt";
}

void end_moment() {
  if (moment().write_to.empty())
    return;
  std::ofstream file(moment().write_to);
  file << "# By `lemma_bench --moment --write FILE`: a hash of what a row's kernels leave in memory, and the "
          "row.\n";
  for (const auto& [name, hash] : moment().results)
    file << hash << ' ' << name << '\n';
  if (!file.flush()) {
    fmt::print(stderr, "lemma_bench: cannot write {}\n", moment().write_to);
    std::exit(1);
  }
}

} // namespace lemma::bench
