// What `lemma bench` prints: a row a kernel or product as it comes, or one JSON object; then the geometric
// means.
//
// Tests: tests/cli/bench_cli_test.py.
#pragma once

#include "bench_measure.h"
#include "json_output.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace lemma::cli {

class BenchOutput {
public:
  BenchOutput(bool json, const DeviceInfo& device, const std::string& l2);

  // Before the first row. `cublas`: null, and `why` says why.
  void begin(const CublasLt* cublas, const std::string& why);
  void add(const BenchGroup& group, const BenchResult& result);
  // A product that was not measured.
  void skip(const std::string& label, const std::string& why);
  void finish();

private:
  void add_ratio(const ProductShape& shape, double ratio);
  void print(const BenchGroup& group, const BenchResult& result, std::optional<double> ratio) const;

  std::optional<JsonOutput> json_;
  nlohmann::json object_;
  std::string head_;
  std::vector<std::pair<std::string, std::vector<double>>> ratios_; // cuBLAS's time / ours, by type and order
  std::string no_state_;
};

} // namespace lemma::cli
