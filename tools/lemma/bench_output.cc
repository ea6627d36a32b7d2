// The table is printed row by row, for a run takes minutes; the object of --json stands alone and comes last.
// See bench_output.h.
#include "bench_output.h"

#include "bench_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace lemma::cli {
namespace {

// "1980  452": clock and power.
std::string state_text(const std::optional<GpuState>& state) {
  return state ? fmt::format("{:>5.0f} {:>4.0f}", state->sm_mhz, state->watts)
               : fmt::format("{:>5} {:>4}", "-", "-");
}

std::string rate_text(const std::optional<ProductShape>& shape, double seconds) {
  if (!shape)
    return "-";
  const double rate = teraflops(*shape, seconds);
  return rate < 1 ? fmt::format("{:.2g}", rate) : fmt::format("{:.1f}", rate);
}

} // namespace

BenchOutput::BenchOutput(bool json, const DeviceInfo& device, const std::string& l2)
    : json_(json ? std::optional<JsonOutput>(std::in_place) : std::nullopt) {
  object_ = {{"device", device.name}, {"driver", device.driver}, {"products", nlohmann::json::array()}};
  head_ = device.name + (device.driver.empty() ? "" : ", driver " + device.driver);
  if (device.kind == "cuda") {
    object_["l2"] = l2;
    head_ += ", L2 " + l2;
  }
}

void BenchOutput::begin(const CublasLt* cublas, const std::string& why) {
  if (cublas)
    object_["cublas"] = {{"version", cublas->version()}, {"path", cublas->path()}};
  else
    object_["no_cublas"] = why;
  if (json_)
    return;
  fmt::print("{}\n{}\n\n", head_,
             cublas ? fmt::format("cuBLAS {}: {}", cublas->version(), cublas->path()) : "no cuBLAS: " + why);
  fmt::print("{:<36} {:<22} {:>6} {:>10} {:>6} {:>8} {:>5} {:>4} {:>8} {:>5} {:>4} {:>6}\n", "", "schedule",
             "launch", "median", "spread", "TFLOP/s", "MHz", "W", "cuBLAS", "MHz", "W", "ratio");
}

void BenchOutput::add_ratio(const ProductShape& shape, double ratio) {
  const std::string key = fmt::format("{} {}", shape.type, order_of(shape));
  const auto known =
      std::find_if(ratios_.begin(), ratios_.end(), [&](const auto& entry) { return entry.first == key; });
  if (known != ratios_.end())
    known->second.push_back(ratio);
  else
    ratios_.push_back({key, {ratio}});
}

void BenchOutput::print(const BenchGroup& group, const BenchResult& result,
                        std::optional<double> ratio) const {
  const Spread& seconds = result.ours.seconds;
  const Measured& rival = result.cublas.measured;
  fmt::print("{:<36} {:<22} {:>6} {:>10} {:>5.1f}% {:>8} {}", group.label, group.schedule, group.launches,
             time_text(seconds.median), 100 * (seconds.high - seconds.low) / seconds.median,
             rate_text(group.shape, seconds.median), state_text(result.ours.state));
  if (ratio)
    fmt::print(" {:>8} {} {:>6.3f}", rate_text(group.shape, rival.seconds.median), state_text(rival.state),
               *ratio);
  fmt::print("\n");
  if (const auto& all = result.ours.with_copies) {
    fmt::print("{:<36} {:<22} {:>6} {:>10} {:>5.1f}% {:>8}", "  with its copies", "", "",
               time_text(all->median), 100 * (all->high - all->low) / all->median,
               rate_text(group.shape, all->median));
    if (ratio)
      fmt::print(" {:>10} {:>8} {:>10} {:>6.3f}", "", "", "", rival.seconds.median / all->median);
    fmt::print("\n");
  }
  std::fflush(stdout);
}

void BenchOutput::add(const BenchGroup& group, const BenchResult& result) {
  std::optional<double> ratio;
  if (result.cublas.absent.empty()) {
    ratio = result.cublas.measured.seconds.median / result.ours.seconds.median;
    add_ratio(*group.shape, *ratio);
  }
  if (!result.no_state.empty())
    no_state_ = result.no_state;
  if (!json_) {
    print(group, result, ratio);
    return;
  }
  nlohmann::json row = {
      {"name", group.label}, {"launches", group.launches}, {"lemma", to_json(result.ours, group.shape)}};
  row["kernels"] = nlohmann::json::array();
  for (const Step& step : group.work)
    row["kernels"].push_back(step.name());
  if (!group.schedule.empty())
    row["schedule"] = group.schedule;
  if (group.shape)
    row["product"] = to_json(*group.shape);
  if (ratio) {
    row["cublas"] = to_json(result.cublas.measured, group.shape);
    row["cublas"]["name"] = result.cublas.name;
    row["ratio"] = *ratio;
  } else {
    row["no_cublas"] = result.cublas.absent;
  }
  object_["products"].push_back(std::move(row));
}

void BenchOutput::skip(const std::string& label, const std::string& why) {
  if (json_)
    object_["products"].push_back({{"name", label}, {"skipped", why}});
  else
    fmt::print("{:<36} {}\n", label, why);
}

void BenchOutput::finish() {
  std::vector<double> all;
  nlohmann::json means = nlohmann::json::object();
  for (const auto& [key, ratios] : ratios_) {
    means[key] = geometric_mean(ratios);
    all.insert(all.end(), ratios.begin(), ratios.end());
  }
  if (!all.empty())
    means["all"] = geometric_mean(all);
  if (json_) {
    object_["geometric_means"] = std::move(means);
    if (!no_state_.empty())
      object_["no_clocks"] = no_state_;
    json_->print(object_);
    return;
  }
  fmt::print("\n");
  for (const auto& [key, ratios] : ratios_)
    fmt::print("geometric mean of {} ratios, {}: {:.3f}\n", ratios.size(), key, means[key].get<double>());
  if (ratios_.size() > 1)
    fmt::print("geometric mean of all: {:.3f}\n", means["all"].get<double>());
  if (!no_state_.empty())
    fmt::print("no clocks: {}\n", no_state_);
}

} // namespace lemma::cli
