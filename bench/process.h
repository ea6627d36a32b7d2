// What a process takes of the machine: its time by the clock, its CPU time, its memory.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace lemma::bench {

struct ProcessCost {
  double wall_ms = 0, cpu_ms = 0;
  double peak_mb = 0; // of what was resident
};

using Command = std::vector<std::string>; // the first is the program's path

// None if the program is not there, or fails. What it prints goes nowhere.
std::optional<ProcessCost> run(const Command& command);

} // namespace lemma::bench
