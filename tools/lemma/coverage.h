// --coverage: which lines of a program ran, and how often, over all launches of a run. Lines are those of the
// source where the PTX has .loc, else those of the PTX.
//
//   Coverage coverage; config.observer = &coverage; ...launches...; fmt::print("{}", coverage.text());
//
// What counts is the module as far as a launch could reach it: the kernels that were launched, and all
// functions that are no kernels.
//
// Tests: tests/cli/watch_cli_test.py.
#pragma once

#include "lemma/observer.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace lemma::cli {

class Coverage final : public LaunchObserver {
public:
  Watch watches() const override;
  void launch_begins(const WatchedLaunch& launch) override;
  void executes(const WarpStep& step) override;
  void launch_ends(const WatchedLaunch& launch) override;

  // A table a file; ends with a newline unless it is empty.
  std::string text() const;
  nlohmann::json to_json() const;

private:
  struct Count {
    uint64_t warps = 0, lanes = 0; // executions, by warps and by their lanes
  };
  struct Instruction {
    std::string file; // empty: the function's sources are known, and of this instruction no line is
    uint32_t line = 0;
    std::string text; // of the line; of PTX the statement
    Count count;
  };
  // A module: launches of one text are added.
  struct Code {
    std::vector<WatchedFunction> functions; // without names
    std::vector<std::string> names;
    std::set<size_t> launched; // of the kernels among the functions
    std::vector<Instruction> instructions;
  };
  // All that a line has. It ran as often as that instruction of it which ran most.
  struct Line {
    uint32_t instructions = 0, executed = 0;
    Count most;
    std::string text;
  };
  using Lines = std::map<std::string, std::map<uint32_t, Line>>; // by file

  Code& code_of(const WatchedLaunch& launch);
  Lines lines() const;
  std::vector<std::string> not_launched() const;

  std::vector<std::vector<Count>> counting_; // of the launch that runs: by worker and instruction
  std::map<std::string, Code> codes_;
};

} // namespace lemma::cli
