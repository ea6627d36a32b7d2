// Which lines of a kernel have bank conflicts: a program that watches a launch through lemma/observer.h.
//
//   bank_conflicts FILE.ptx      one CTA of 256 threads; every parameter gets a buffer of 1 MiB
//
// Shared memory has 32 banks of 4 bytes. A warp's access takes a wavefront for each time that a bank has to
// give another of its words: lanes that want the same word share it. An access of 8 bytes a lane goes by
// halves of the warp, one of 16 bytes by quarters, so that no wavefront could move more than 128 bytes.
#include "run_watched.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace {

constexpr uint32_t kBanks = 32, kBankBytes = 4, kWavefrontBytes = kBanks * kBankBytes;

// Of the pieces in `group`, a mask.
uint32_t wavefronts_of_group(const lemma::WatchedAccess& access, uint32_t group) {
  std::array<std::set<uint64_t>, kBanks> words; // that are asked of each bank
  for (uint32_t rest = group & access.pieces; rest != 0; rest &= rest - 1) {
    const uint64_t address = access.addresses[std::countr_zero(rest)];
    for (uint64_t word = address / kBankBytes; word * kBankBytes < address + access.piece_bytes; ++word)
      words[word % kBanks].insert(word);
  }
  size_t most = 0;
  for (const std::set<uint64_t>& bank : words)
    most = std::max(most, bank.size());
  return static_cast<uint32_t>(most);
}

struct Wavefronts {
  uint64_t needed = 0;
  uint64_t least = 0; // had there been no conflict
};

Wavefronts wavefronts(const lemma::WatchedAccess& access) {
  const uint32_t lanes = std::min(32u, kWavefrontBytes / std::max(access.piece_bytes, kBankBytes));
  const uint32_t group = lanes == 32 ? 0xffffffffu : (1u << lanes) - 1;
  Wavefronts sum;
  for (uint32_t first = 0; first < 32; first += lanes)
    if (const uint32_t needed = wavefronts_of_group(access, group << first); needed != 0)
      sum = {sum.needed + needed, sum.least + 1};
  return sum;
}

class BankConflicts : public lemma::LaunchObserver {
public:
  struct Line {
    uint64_t accesses = 0; // by warps
    Wavefronts wavefronts;
    std::string text;
  };
  std::map<std::pair<std::string, uint32_t>, Line> lines; // by file and line, once the launch has ended

private:
  lemma::Watch watches() const override {
    return {.instructions = false, .synchronization = false, .operations = false};
  }
  // A counter for each of the launch's threads and each instruction: no lock is needed.
  void launch_begins(const lemma::WatchedLaunch& launch) override {
    counting_.assign(launch.workers, std::vector<Line>(launch.instructions));
  }
  void accesses(const lemma::WarpStep& step, const lemma::WatchedAccess& access) override {
    if (access.space != lemma::MemorySpace::shared || access.type == lemma::AccessType::atomic)
      return;
    Line& line = counting_[step.worker][step.instruction];
    const Wavefronts more = wavefronts(access);
    ++line.accesses;
    line.wavefronts.needed += more.needed;
    line.wavefronts.least += more.least;
  }
  void launch_ends(const lemma::WatchedLaunch& launch) override {
    for (const std::vector<Line>& by_instruction : counting_)
      for (uint32_t i = 0; i < by_instruction.size(); ++i) {
        if (by_instruction[i].accesses == 0)
          continue;
        const lemma::Place place = launch.place(i);
        const bool has_source = !place.file.empty();
        Line& line = lines[{has_source ? place.file : std::string(launch.ptx),
                            has_source ? place.line : place.ptx_line}];
        line.text = has_source ? place.source_text : place.instruction;
        line.accesses += by_instruction[i].accesses;
        line.wavefronts.needed += by_instruction[i].wavefronts.needed;
        line.wavefronts.least += by_instruction[i].wavefronts.least;
      }
  }

  std::vector<std::vector<Line>> counting_;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: bank_conflicts FILE.ptx\n");
    return 2;
  }
  BankConflicts conflicts;
  const std::optional<std::string> text = read_text(argv[1]);
  if (!text || !run_watched(*text, argv[1], conflicts))
    return 1;
  std::printf("%9s %11s %6s  line\n", "accesses", "wavefronts", "least");
  for (const auto& [at, line] : conflicts.lines)
    std::printf("%9" PRIu64 " %11" PRIu64 " %6" PRIu64 "  %s:%u: %s\n", line.accesses, line.wavefronts.needed,
                line.wavefronts.least, at.first.c_str(), at.second, line.text.c_str());
  return 0;
}
