// `lemma tune`: every schedule of a matrix product in turns with the others, and which is the fastest. The
// table of src/nvgpu/matmul/schedule.cc comes from such runs (docs/matmul.md).
//
// Tests: tests/cli/bench_cli_test.py.
#include "bench_measure.h"
#include "bench_products.h"
#include "bench_program.h"
#include "command.h"
#include "json_output.h"
#include "run_arguments.h"

#include "lemma/mlir.h"
#include "lemma/timing.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lemma::cli {
namespace {

constexpr const char* kTuneFooter =
    R"(Each product of the program, or each that --matmul and --sizes name, is made by every schedule that there is for it,
and the kernels take turns; copies of operands that a product needs are the same for all, and do not count.
Examples:
  lemma tune --matmul bf16 --sizes 2048,4096,8192,16384 --device cuda
  lemma tune product.mlir --device cuda --json
Exit status: 0 success; 1 a kernel faulted, or the file is rejected; 2 wrong command line; 3 no such device.)";

struct TuneWords {
  ProgramWords program;
  BenchWords bench;
  std::string schedules;
};

// A schedule that has made the program's kernels.
struct Candidate {
  std::string schedule;
  BenchRun run;
};

// What became of one product.
struct Tuned {
  std::string label;
  std::optional<ProductShape> shape;
  std::string usual;                                         // the schedule that is taken where none is named
  std::vector<std::pair<std::string, Measured>> by_schedule; // fastest first
};

class TuneOutput {
public:
  TuneOutput(bool json, const DeviceInfo& device)
      : json_(json ? std::optional<JsonOutput>(std::in_place) : std::nullopt) {
    object_ = {{"device", device.name}, {"driver", device.driver}, {"products", nlohmann::json::array()}};
    if (!json_)
      fmt::print("{}{}\n", device.name, device.driver.empty() ? "" : ", driver " + device.driver);
  }

  void add(const Tuned& tuned) {
    if (!json_)
      return print(tuned);
    nlohmann::json row = {
        {"name", tuned.label}, {"usual", tuned.usual}, {"best", tuned.by_schedule.front().first}};
    if (tuned.shape)
      row["product"] = to_json(*tuned.shape);
    row["schedules"] = nlohmann::json::array();
    for (const auto& [schedule, measured] : tuned.by_schedule) {
      row["schedules"].push_back(to_json(measured, tuned.shape));
      row["schedules"].back()["name"] = schedule;
    }
    object_["products"].push_back(std::move(row));
  }

  // Of a schedule that did not make a kernel.
  void skip(const std::string& product, const std::string& schedule, const std::string& why) {
    if (json_)
      object_["skipped"].push_back({{"product", product}, {"schedule", schedule}, {"why", why}});
    else
      fmt::print("\n{}, left out ({}): {}\n", product, why, schedule);
  }

  void finish() {
    if (json_)
      return json_->print(object_);
    fmt::print("\nRows for src/nvgpu/matmul/schedule.cc, the fastest of each product:\n");
    for (const std::string& row : rows_)
      fmt::print("{}\n", row);
  }

private:
  void print(const Tuned& tuned) {
    fmt::print("\n{}\n", tuned.label);
    const double best = tuned.by_schedule.front().second.seconds.median;
    for (const auto& [schedule, measured] : tuned.by_schedule) {
      const Spread& seconds = measured.seconds;
      fmt::print("  {:<26} {:>10} {:>5.1f}% {:>8} {:>6.3f}{}\n", schedule, time_text(seconds.median),
                 100 * (seconds.high - seconds.low) / seconds.median,
                 tuned.shape ? fmt::format("{:.4g}", teraflops(*tuned.shape, seconds.median)) : "",
                 best / seconds.median, schedule == tuned.usual ? "  what is taken without --schedule" : "");
    }
    if (tuned.shape)
      rows_.push_back(fmt::format(R"(    {{"{}", "{}", {}, {}, {}, "{}"}},)", tuned.shape->type,
                                  order_of(*tuned.shape), tuned.shape->m, tuned.shape->n, tuned.shape->k,
                                  tuned.by_schedule.front().first));
    std::fflush(stdout);
  }

  std::optional<JsonOutput> json_;
  nlohmann::json object_;
  std::vector<std::string> rows_;
};

// Whether every product got it: one that is not for its types got another.
bool all_have(const BenchRun& run, const std::string& schedule) {
  return std::all_of(run.groups.begin(), run.groups.end(), [&](const BenchGroup& group) {
    return group.schedule.empty() || group.schedule == schedule;
  });
}

// One program by each schedule; every product of it in turns.
Result<void, Stop> tune_program(const Device& device, const BenchProgram& program, RunArguments& given,
                                const std::vector<std::string>& schedules, const TimingOptions& options,
                                TuneOutput& output) {
  auto memory = BenchMemory::make(device, program, given);
  if (!memory)
    return Unexpected<Stop>{std::move(memory).error()};
  const auto usual = run_once(device, program, **memory);
  if (!usual)
    return Unexpected<Stop>{usual.error()};
  std::vector<Candidate> candidates;
  std::vector<std::string> others; // schedules of other products
  for (const std::string& schedule : schedules) {
    BenchProgram by_schedule = program;
    by_schedule.schedule = schedule;
    auto run = run_once(device, by_schedule, **memory);
    if (run && run->groups.size() == usual->groups.size() && all_have(*run, schedule))
      candidates.push_back({schedule, *std::move(run)});
    else if (run)
      others.push_back(schedule);
    else
      output.skip(program.name, schedule, run.error().error.text);
  }
  if (!others.empty())
    output.skip(program.name, fmt::format("{}", fmt::join(others, ", ")), "not for such products");
  bool has_product = false;
  for (size_t i = 0; i < usual->groups.size(); ++i) {
    const BenchGroup& group = usual->groups[i];
    if (group.schedule.empty())
      continue;
    std::vector<const BenchGroup*> groups;
    for (const Candidate& candidate : candidates)
      groups.push_back(&candidate.run.groups[i]);
    if (groups.empty())
      continue;
    has_product = true;
    auto measured = measure_all(device, groups, options);
    if (!measured)
      return Unexpected<Stop>{std::move(measured).error()};
    Tuned tuned{.label = group.label, .shape = group.shape, .usual = group.schedule, .by_schedule = {}};
    for (size_t j = 0; j < groups.size(); ++j)
      tuned.by_schedule.emplace_back(candidates[j].schedule, (*measured)[j]);
    std::stable_sort(tuned.by_schedule.begin(), tuned.by_schedule.end(), [](const auto& a, const auto& b) {
      return a.second.seconds.median < b.second.seconds.median;
    });
    output.add(tuned);
  }
  return has_product ? Result<void, Stop>()
                     : usage(fmt::format("{} has no matrix product that becomes a kernel (docs/matmul.md)",
                                         program.name));
}

Result<std::vector<std::string>, Stop> schedules_of(const std::string& words) {
  std::vector<std::string> known, wanted;
  for (const MlirSchedule& schedule : matmul_schedules())
    known.push_back(schedule.name);
  if (words.empty())
    return known;
  for (size_t begin = 0; begin <= words.size();) {
    const size_t end = std::min(words.find(',', begin), words.size());
    wanted.push_back(words.substr(begin, end - begin));
    begin = end + 1;
    if (std::find(known.begin(), known.end(), wanted.back()) == known.end())
      return usage(
          fmt::format("there is no schedule '{}'; there are {}", wanted.back(), fmt::join(known, ", ")));
  }
  return wanted;
}

Result<void, Stop> tune(const TuneWords& words) {
  const auto schedules = schedules_of(words.schedules);
  if (!schedules)
    return Unexpected<Stop>{schedules.error()};
  auto started = start(words.program, words.bench);
  if (!started)
    return Unexpected<Stop>{std::move(started).error()};
  auto& [options, programs, given, device] = *started;
  TuneOutput output(words.bench.json, device.info());
  for (const BenchProgram& program : programs)
    if (auto done = tune_program(device, program, given, *schedules, options, output); !done)
      return done;
  output.finish();
  return {};
}

} // namespace

Command add_tune(CLI::App& parent) {
  CLI::App* app = parent.add_subcommand("tune", "find the fastest schedule of a matrix product");
  const auto words = std::make_shared<TuneWords>();
  add_program_options(*app, words->program);
  add_bench_options(*app, words->bench);
  app->add_option("--schedules", words->schedules, "which are tried (default: all)")->type_name("NAME,...");
  app->footer(kTuneFooter);
  return {app, [words] { return show(words->bench.json, tune(*words)); }};
}

} // namespace lemma::cli
