// What `lemma exec` says when a program has ended: the findings of all its processes, a line a kernel, and
// both as files.
//
// Tests: tests/exec/.
#pragma once

#include "check_output.h"

#include "lemma/process_reports.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lemma::cli {

// One run of the program.
struct ProgramRunOnce {
  std::optional<uint64_t> schedule; // --explore
  int status = 0;
};

class ExecReport {
public:
  explicit ExecReport(CheckOptions options) : found(std::move(options)) {}

  // What the processes of one run have left.
  void add(const ProgramRunOnce& run, ProcessReports reports);

  // The program's status, of the first run that failed; 1 if all succeeded and something was found, or may
  // have been.
  int exit_status() const;
  // On standard error: findings, --stats, and a last line.
  void show(const std::string& program, bool stats) const;
  nlohmann::json to_json() const;
  nlohmann::json to_sarif() const;

  CheckOutput found;

private:
  bool has_checked_faults() const;

  std::vector<ProgramRunOnce> runs_;
  std::vector<std::string> commands_;
  std::vector<KernelFault> faults_;
  std::vector<KernelCounts> kernels_;
  std::vector<RunningLaunch> running_; // when a process ended
  bool are_complete_ = true;           // all that was found could be written
};

} // namespace lemma::cli
