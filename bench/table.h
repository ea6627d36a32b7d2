// One table for all benchmarks: name, rate with its unit, and the rate as a part of something else that was
// measured in the same run. Work is counted per second of CPU time of the benchmark's thread, so that other
// programs on the machine disturb it little; benchmarks that use several threads count wall time
// (UseRealTime).
#pragma once

#include "lemma/matrix_outputs.h"

#include <benchmark/benchmark.h>

#include <string>

namespace lemma::bench {

// `work` since the benchmark began; `unit` without the "/s".
void set_rate(benchmark::State& state, double work, const std::string& unit);
// A rate that was measured otherwise.
void set_value(benchmark::State& state, double value, const std::string& unit);
// Adds a column to such a rate: what part it is of `whole`, "12.3 % of <what>" or "1.9 x <what>".
void compare(benchmark::State& state, double whole, const std::string& what, const std::string& unit);
// A time in the place of a rate, and what part of `whole_ms` it is.
void set_time(benchmark::State& state, double ms);
// An amount in the place of a rate.
void set_amount(benchmark::State& state, double amount, const std::string& unit);
void compare_time(benchmark::State& state, double ms, double whole_ms, const std::string& what);

// Fails the row where less than 95 % of the outputs took the loops for ordinary numbers, as all the operands
// of the benchmarks are; the host has to have such loops.
void require_vector_paths(benchmark::State& state, const MatrixOutputs& paths);

class TableReporter : public benchmark::BenchmarkReporter {
public:
  bool ReportContext(const Context& context) override;
  void ReportRuns(const std::vector<Run>& runs) override;
  bool failed() const { return failed_; }

private:
  std::string group_;
  bool failed_ = false; // a row
};

} // namespace lemma::bench
