// cuBLAS's algorithms are first tried alone, since turns of all eight would take long; those that came close
// to the best then take turns with ours, so that all meet the same clocks. See bench_measure.h.
#include "bench_measure.h"

#include "arg_spec.h"
#include "bench_products.h"
#include "json_output.h"
#include "say.h"
#include "terminal.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace lemma::cli {
namespace {

constexpr unsigned kHeuristics = 8; // of cuBLAS that are tried
constexpr size_t kFinalists = 2;    // that take turns with ours

Result<unsigned, Stop> parse_count(const char* option, const std::string& text, uint64_t lowest) {
  constexpr uint64_t kMost = 100'000;
  const auto count = parse_unsigned(text);
  if (!count || *count < lowest || *count > kMost)
    return usage(fmt::format("{} {}: a number from {} to {}", option, text, lowest, kMost));
  return static_cast<unsigned>(*count);
}

Measured measured(const BenchGroup& group, const WorkTimes& times) {
  Measured result{.state = times.state};
  const std::vector<double> all = totals(times);
  result.samples = all.size();
  if (group.copies > 0)
    result.with_copies = spread_of(all);
  WorkTimes product{
      .seconds = {times.seconds.begin() + static_cast<ptrdiff_t>(group.copies), times.seconds.end()}};
  result.seconds = spread_of(totals(product));
  return result;
}

// Random matrices of a product's sizes.
class OwnMatrices {
public:
  static Result<OwnMatrices, Error> make(const Device& device, const ProductShape& shape) {
    OwnMatrices own;
    if (auto made = own.add(device, shape.m * shape.k, shape.type); !made)
      return Unexpected<Error>{std::move(made).error()};
    if (auto made = own.add(device, shape.k * shape.n, shape.type); !made)
      return Unexpected<Error>{std::move(made).error()};
    if (auto made = own.add(device, shape.m * shape.n, shape.result); !made)
      return Unexpected<Error>{std::move(made).error()};
    return own;
  }
  Matrices addresses() const { return {buffers_[0].address(), buffers_[1].address(), buffers_[2].address()}; }

private:
  Result<void, Error> add(const Device& device, uint64_t elements, const std::string& type) {
    std::vector<std::byte> host(elements * element_bytes(type));
    if (auto filled = fill_random(host, type, buffers_.size()); !filled)
      return filled;
    auto buffer = device.allocate(host.size());
    if (!buffer)
      return Unexpected<Error>{std::move(buffer).error()};
    buffers_.push_back(*std::move(buffer));
    return buffers_.back().copy_from(host);
  }

  std::vector<Buffer> buffers_;
};

// Those that were fastest when each ran alone for a moment, best first. One that does not run is none.
std::vector<Step> finalists(const Device& device, std::vector<Step> steps, const TimingOptions& options) {
  std::vector<std::pair<double, Step>> timed;
  for (Step& step : steps) {
    const Work work{step};
    const auto times =
        time_in_turns(device, std::span(&work, 1),
                      {.rounds = 1, .launches = 5, .warm_up = 1, .flushes_l2 = options.flushes_l2});
    if (times)
      timed.emplace_back(spread_of(times->works[0].seconds[0]).median, std::move(step));
  }
  std::stable_sort(timed.begin(), timed.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Step> best;
  for (auto& [seconds, step] : timed)
    if (best.size() < kFinalists)
      best.push_back(std::move(step));
  return best;
}

// What a product writes over zeros: pieces of C, from its first to its last row.
Result<std::vector<std::byte>, Error> written(const Device& device, const Work& work,
                                              const ProductShape& shape, uint64_t c) {
  constexpr uint64_t kPieces = 5, kPieceBytes = uint64_t{1} << 18;
  const uint64_t bytes = shape.m * shape.n * element_bytes(shape.result),
                 piece = std::min(bytes, kPieceBytes);
  if (auto cleared = device.fill(c, bytes, 0); !cleared)
    return Unexpected<Error>{std::move(cleared).error()};
  const auto ran = time_in_turns(device, std::span(&work, 1),
                                 {.rounds = 1, .launches = 1, .warm_up = 0, .flushes_l2 = false});
  if (!ran)
    return Unexpected<Error>{ran.error()};
  std::vector<std::byte> all(kPieces * piece);
  for (uint64_t i = 0; i < kPieces; ++i) {
    const uint64_t at = (bytes - piece) * i / (kPieces - 1) / 8 * 8; // whole elements
    if (auto read = device.read(c + at, std::span(all).subspan(i * piece, piece)); !read)
      return Unexpected<Error>{std::move(read).error()};
  }
  return all;
}

// Of a product whose matrices are cuBLAS's too: an error if they do not come to the same, for then its time
// says nothing. Sums have other orders, and 8-bit floats' fewer bits.
Result<void, Stop> check_same(const Device& device, const BenchGroup& group, const Step& rival, uint64_t c) {
  constexpr double kMost = 0.01;
  Result<std::vector<std::byte>, Error> results[] = {written(device, group.work, *group.shape, c),
                                                     written(device, {rival}, *group.shape, c)};
  for (auto& result : results)
    if (!result)
      return stop(std::move(result).error());
  auto difference = relative_difference(*results[0], *results[1], group.shape->result);
  if (!difference)
    return stop(std::move(difference).error());
  if (!(*difference <= kMost)) // a NaN is too much
    return Unexpected<Stop>{
        {kFailed,
         {.kind = ErrorKind::kernel_failed,
          .text = fmt::format("lemma: {}: the result is not cuBLAS's: it differs by {:.3g} of it\n",
                              group.label, *difference),
          .messages = {}}}};
  return {};
}

} // namespace

void add_bench_options(CLI::App& app, BenchWords& words) {
  app.add_option("--device", words.device, "cpu: the virtual GPU; cuda: a real one")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  app.add_option("--arch", words.arch, "target (default: the gpu.module's #nvvm.target, else sm_90a)")
      ->type_name("sm_90a");
  app.add_option("--l2", words.l2,
                 "flushed: before each launch 256 MB are written, which leaves nothing else in the L2; "
                 "warm: nothing happens between launches")
      ->check(CLI::IsMember({"flushed", "warm"}))
      ->capture_default_str();
  app.add_option("--rounds", words.rounds, "in which all that is compared takes turns")
      ->type_name("N")
      ->capture_default_str();
  app.add_option(
         "--launches", words.launches,
         "that count, of each turn (default: as many as take 0.15 s, from 10 to 60; on cpu from 1 to 10)")
      ->type_name("N");
  app.add_option("--warm-up", words.warm_up, "launches at the begin of a turn that do not count")
      ->type_name("N")
      ->capture_default_str();
  app.add_flag("--allow-tf32", words.allow_tf32, "of a file: multiply matrices of f32 as tf32");
  app.add_flag("--json", words.json, "print one JSON object");
}

namespace {

Result<TimingOptions, Stop> timing_options(const BenchWords& words) {
  const auto rounds = parse_count("--rounds", words.rounds, 1),
             launches = parse_count("--launches", words.launches, 0),
             warm_up = parse_count("--warm-up", words.warm_up, 0);
  for (const auto* count : {&rounds, &launches, &warm_up})
    if (!*count)
      return Unexpected<Stop>{count->error()};
  return TimingOptions{
      .rounds = *rounds, .launches = *launches, .warm_up = *warm_up, .flushes_l2 = words.l2 == "flushed"};
}

} // namespace

void add_program_options(CLI::App& app, ProgramWords& words) {
  app.add_option("FILE.mlir", words.file, "MLIR text with host code, as lemma run takes it");
  add_product_options(app, words.products);
  app.add_option("--entry", words.entry, "of a file: the host function")
      ->type_name("NAME")
      ->capture_default_str();
  app.add_option("--arg", words.args, "of a file: an argument of its entry, as lemma run has it")
      ->type_name("SPEC");
}

Result<BenchStart, Stop> start(const ProgramWords& words, const BenchWords& bench) {
  const auto options = timing_options(bench);
  if (!options)
    return Unexpected<Stop>{options.error()};
  RunArguments given;
  for (const std::string& spec : words.args)
    if (auto added = given.add(spec); !added)
      return Unexpected<Stop>{std::move(added).error()};
  auto programs = programs_of(
      {.entry = words.entry, .arch = bench.arch, .schedule = words.schedule, .allow_tf32 = bench.allow_tf32},
      words.file, words.products, bench.device, !words.args.empty());
  if (!programs)
    return Unexpected<Stop>{std::move(programs).error()};
  if (auto read = given.read_files(); !read)
    return Unexpected<Stop>{std::move(read).error()};
  auto device = Device::open(bench.device);
  if (!device)
    return stop(std::move(device).error());
  return BenchStart{*options, *std::move(programs), std::move(given), *std::move(device)};
}

Result<BenchResult, Stop> measure(const Device& device, const BenchGroup& group, const CublasLt* cublas,
                                  const std::string& why, const std::optional<Matrices>& matrices,
                                  const TimingOptions& options) {
  BenchResult result;
  std::vector<Work> works{group.work};
  std::optional<OwnMatrices> own;
  std::vector<Step> rivals;
  if (!group.shape)
    result.cublas.absent = "not a matrix product of known size";
  else if (!cublas)
    result.cublas.absent = why;
  else {
    if (!matrices) {
      auto made = OwnMatrices::make(device, *group.shape);
      if (!made)
        return stop(std::move(made).error());
      own = *std::move(made);
    }
    const Matrices at = matrices ? *matrices : own->addresses();
    auto steps = cublas->products(*group.shape, at.a, at.b, at.c, kHeuristics);
    if (steps)
      rivals = finalists(device, *std::move(steps), options);
    if (rivals.empty())
      result.cublas.absent = steps ? "none of cuBLAS's algorithms runs" : steps.error().text;
    if (matrices && !rivals.empty())
      if (auto same = check_same(device, group, rivals.front(), matrices->c); !same)
        return Unexpected<Stop>{std::move(same).error()};
    for (const Step& step : rivals)
      works.push_back({step});
  }
  auto times = time_in_turns(device, works, options);
  if (!times)
    return stop(std::move(times).error());
  result.no_state = times->no_state;
  result.ours = measured(group, times->works[0]);
  for (size_t i = 0; i < rivals.size(); ++i) {
    Measured rival = measured({.label = {}, .shape = {}, .schedule = {}, .work = {}}, times->works[i + 1]);
    if (i == 0 || rival.seconds.median < result.cublas.measured.seconds.median) {
      result.cublas.measured = std::move(rival);
      result.cublas.name = rivals[i].name();
    }
  }
  return result;
}

Result<std::vector<Measured>, Stop>
measure_all(const Device& device, std::span<const BenchGroup* const> groups, const TimingOptions& options) {
  std::vector<Work> works;
  for (const BenchGroup* group : groups)
    works.push_back(group->work);
  auto times = time_in_turns(device, works, options);
  if (!times)
    return stop(std::move(times).error());
  std::vector<Measured> all;
  for (size_t i = 0; i < groups.size(); ++i)
    all.push_back(measured(*groups[i], times->works[i]));
  return all;
}

int show(bool json, const Result<void, Stop>& done) {
  if (done)
    return kSuccess;
  const auto& [status, error] = done.error();
  std::string text;
  for (const Message& message : error.messages)
    text += message.rendered;
  if (json)
    JsonOutput().print({{"exit_status", int{status}}, {"error", to_json(error)}});
  if (!text.empty() || error.kind == ErrorKind::kernel_failed)
    print_messages(stderr, text.empty() ? error.text : text);
  else
    say(error.text);
  return status;
}

double teraflops(const ProductShape& shape, double seconds) {
  return 2e-12 * static_cast<double>(shape.m) * static_cast<double>(shape.n) * static_cast<double>(shape.k) /
         seconds;
}

double geometric_mean(std::span<const double> values) {
  double sum = 0;
  for (const double value : values)
    sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

std::string time_text(double seconds) {
  return seconds < 1e-3 ? fmt::format("{:.2f} us", seconds * 1e6)
         : seconds < 1  ? fmt::format("{:.3f} ms", seconds * 1e3)
                        : fmt::format("{:.3f} s", seconds);
}

nlohmann::json to_json(const Spread& seconds) {
  return {{"median", seconds.median}, {"p10", seconds.low}, {"p90", seconds.high}};
}

nlohmann::json to_json(const ProductShape& shape) {
  return {{"type", shape.type}, {"result", shape.result}, {"order", order_of(shape)},
          {"m", shape.m},       {"n", shape.n},           {"k", shape.k}};
}

nlohmann::json to_json(const Measured& measured, const std::optional<ProductShape>& shape) {
  nlohmann::json out = {{"seconds", to_json(measured.seconds)}, {"samples", measured.samples}};
  if (shape)
    out["tflops"] = teraflops(*shape, measured.seconds.median);
  if (measured.with_copies) {
    out["seconds_with_copies"] = to_json(*measured.with_copies);
    if (shape)
      out["tflops_with_copies"] = teraflops(*shape, measured.with_copies->median);
  }
  if (measured.state) {
    out["sm_mhz"] = measured.state->sm_mhz;
    out["memory_mhz"] = measured.state->memory_mhz;
    out["watts"] = measured.state->watts;
  }
  return out;
}

} // namespace lemma::cli
