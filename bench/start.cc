// What a process takes to start: `lemma run` of a kernel of eight instructions, `lemma --version`, and beside
// them a process that does nothing, /bin/true. They take turns, so that what else the machine does meets all
// alike; the table has the medians of wall time and of CPU time.
#include "moment.h"
#include "process.h"
#include "table.h"

#include <algorithm>
#include <vector>

namespace lemma::bench {
namespace {

int turns() {
  return in_full_or(51, 1);
}
constexpr const char* kFolder = LEMMA_EXAMPLES "/vector_add/";

struct Started {
  const char* name;
  Command command;
  std::vector<double> wall_ms{}, cpu_ms{};
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

std::vector<Started> measure() {
  const std::string folder = kFolder;
  std::vector<Started> all{{.name = "lemma run vector_add",
                            .command = {LEMMA_CLI, "run", folder + "vector_add.ptx", "--grid", "4", "--block",
                                        "256", "--arg", "in=" + folder + "a.npy", "--arg",
                                        "in=" + folder + "b.npy", "--arg", "buf=4000", "--arg", "u32=1000"}},
                           {.name = "lemma --version", .command = {LEMMA_CLI, "--version"}},
                           {.name = "true", .command = {"/bin/true"}}};
#ifdef LEMMA_DRIVER_START // the first calls of the CUDA driver API, a context among them, and no kernel
  all.push_back({.name = "cuInit and a context", .command = {LEMMA_DRIVER_START}});
#endif
  for (int turn = 0; turn < turns(); ++turn)
    for (Started& one : all)
      if (const auto cost = run(one.command)) {
        one.wall_ms.push_back(cost->wall_ms);
        one.cpu_ms.push_back(cost->cpu_ms);
      }
  return all;
}

const std::vector<Started>& measured() {
  static const std::vector<Started> all = measure();
  return all;
}

} // namespace

void register_start() {
  std::vector<const char*> names = {"lemma run vector_add", "lemma --version", "true"};
#ifdef LEMMA_DRIVER_START
  names.push_back("cuInit and a context");
#endif
  for (size_t i = 0; i < names.size(); ++i)
    for (const auto& [what, times] :
         {std::pair{"wall", &Started::wall_ms}, std::pair{"CPU", &Started::cpu_ms}})
      benchmark::RegisterBenchmark((std::string("start/") + names[i] + ", " + what).c_str(),
                                   [=](benchmark::State& state) {
                                     for (auto _ : state)
                                       benchmark::DoNotOptimize(measured().data());
                                     const std::vector<double>& ms = measured()[i].*times;
                                     if (ms.size() < static_cast<size_t>(turns()))
                                       state.SkipWithError("FAILED: the process does not do its work");
                                     else
                                       set_time(state, median(ms));
                                   })
          ->Iterations(1);
}

} // namespace lemma::bench
