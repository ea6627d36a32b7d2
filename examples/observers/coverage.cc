// Which lines of a kernel ran, as a listing: the second program that watches a launch through
// lemma/observer.h. `lemma run --coverage` does this for any run, by lines of the source too.
//
//   coverage FILE.ptx      one CTA of 256 threads; every parameter gets a buffer of 1 MiB
#include "run_watched.h"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Count {
  uint64_t warps = 0, lanes = 0;
};

class Coverage : public lemma::LaunchObserver {
public:
  std::map<uint32_t, Count> lines; // of the PTX that have instructions, once the launch has ended

private:
  lemma::Watch watches() const override {
    return {.accesses = false, .synchronization = false, .operations = false};
  }
  void launch_begins(const lemma::WatchedLaunch& launch) override {
    counting_.assign(launch.workers, std::vector<Count>(launch.instructions));
  }
  void executes(const lemma::WarpStep& step) override { // from several threads, each with its own counters
    Count& count = counting_[step.worker][step.instruction];
    ++count.warps;
    count.lanes += static_cast<uint64_t>(std::popcount(step.lanes));
  }
  void launch_ends(const lemma::WatchedLaunch& launch) override {
    for (uint32_t i = 0; i < launch.instructions; ++i)
      for (const std::vector<Count>& by_instruction : counting_) {
        Count& line = lines[launch.place(i).ptx_line];
        line.warps += by_instruction[i].warps;
        line.lanes += by_instruction[i].lanes;
      }
  }

  std::vector<std::vector<Count>> counting_;
};

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: coverage FILE.ptx\n");
    return 2;
  }
  Coverage coverage;
  const std::optional<std::string> text = read_text(argv[1]);
  if (!text || !run_watched(*text, argv[1], coverage))
    return 1;
  std::istringstream listing(*text);
  uint32_t number = 0;
  for (std::string line; std::getline(listing, line);) {
    const auto found = coverage.lines.find(++number);
    if (found == coverage.lines.end())
      std::printf("%8s %9s | %s\n", "", "", line.c_str());
    else if (found->second.warps == 0)
      std::printf("%8s %9s | %s\n", "-", "-", line.c_str());
    else
      std::printf("%8" PRIu64 " %9" PRIu64 " | %s\n", found->second.warps, found->second.lanes, line.c_str());
  }
  return 0;
}
