// Benchmarks hand their rate over as a counter of google-benchmark; the unit, and what the rate is compared
// with, in the label, kSeparator between. The reporter takes them apart again and prints rows, a rule between
// groups. A row whose products left the vector path is an error, not a number.
#include "table.h"

#include "moment.h"

#include "numeric/dot_levels.h"

#include <fmt/format.h>

#include <cstdio>
#include <fstream>

namespace lemma::bench {
namespace {

constexpr const char* kRate = "rate";
constexpr const char* kWhole = "whole";
constexpr char kSeparator = '|'; // in a run's label: unit, then what it is compared with

std::string cpu_model() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "unknown CPU";
}

} // namespace

void set_rate(benchmark::State& state, double work, const std::string& unit) {
  state.counters[kRate] = benchmark::Counter(work, benchmark::Counter::kIsRate);
  state.SetLabel(unit + "/s");
}

void set_value(benchmark::State& state, double value, const std::string& unit) {
  state.counters[kRate] = value;
  state.SetLabel(unit + "/s");
}

void compare(benchmark::State& state, double whole, const std::string& what, const std::string& unit) {
  state.counters[kWhole] = whole;
  state.SetLabel(unit + "/s" + kSeparator + what);
}

void set_amount(benchmark::State& state, double amount, const std::string& unit) {
  state.counters[kRate] = amount;
  state.SetLabel(unit);
}

void set_time(benchmark::State& state, double ms) {
  set_amount(state, ms, "ms");
}

void compare_time(benchmark::State& state, double ms, double whole_ms, const std::string& what) {
  set_time(state, ms);
  state.counters[kWhole] = whole_ms;
  state.SetLabel(std::string("ms") + kSeparator + what);
}

void require_vector_paths(benchmark::State& state, const MatrixOutputs& paths) {
  if (numeric::internal::dot_level() == numeric::internal::DotLevel::scalar || paths.total() == 0)
    return;
  const double share = static_cast<double>(paths.vector) / static_cast<double>(paths.total());
  if (share < 0.95)
    state.SkipWithError(
        fmt::format("FAILED: only {:.1f} % of the outputs took the vector path", 100 * share).c_str());
}

bool TableReporter::ReportContext(const Context& context) {
  fmt::print("{}, {} cores, load {}, matrix arithmetic by {}\n", cpu_model(), context.cpu_info.num_cpus,
             context.cpu_info.load_avg.empty() ? 0.0 : context.cpu_info.load_avg.front(),
             to_string(numeric::internal::dot_level()));
  fmt::print("\n{:<46} {:>9}  {:<15} {}\n", "benchmark", "rate", "unit", "compared");
  return true;
}

// Empty where there is none. Google Benchmark 1.8 renamed these members.
template <typename Run>
std::string error_of(const Run& run) {
  if constexpr (requires { run.error_message; })
    return run.error_occurred ? run.error_message : "";
  else
    return run.skipped ? run.skip_message : "";
}

void TableReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    const std::string name = run.run_name.function_name;
    const std::string group = name.substr(0, name.find('/'));
    if (group != group_)
      fmt::print("{:-<100}\n", "");
    group_ = group;
    std::string wrong = error_of(run);
    if (wrong.empty())
      wrong = end_row(name);
    if (!wrong.empty()) {
      fmt::print("{:<46} {}\n", name, wrong);
      failed_ = true;
      continue;
    }
    const auto rate = run.counters.find(kRate);
    if (rate == run.counters.end())
      continue;
    const std::string unit = run.report_label.substr(0, run.report_label.find(kSeparator));
    const double value = rate->second.value;
    fmt::print("{:<46} {:>9.4g}  {:<15} ", name, value, unit);
    if (const auto whole = run.counters.find(kWhole); whole != run.counters.end()) {
      const std::string what = run.report_label.substr(unit.size() + 1);
      const double ratio = value / whole->second.value;
      fmt::print("{}", ratio < 0.5 ? fmt::format("{:.3g} % of {}", 100 * ratio, what)
                                   : fmt::format("{:.3g} x {}", ratio, what));
    }
    fmt::print("\n");
  }
  std::fflush(stdout);
}

} // namespace lemma::bench
