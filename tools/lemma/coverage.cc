// While a launch runs each of its threads counts for itself. Places are asked for once a module.
#include "coverage.h"

#include "lemma/printable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>

namespace lemma::cli {

Watch Coverage::watches() const {
  return {.accesses = false, .synchronization = false, .operations = false};
}

void Coverage::launch_begins(const WatchedLaunch& launch) {
  counting_.assign(launch.workers, std::vector<Count>(launch.instructions));
}

void Coverage::executes(const WarpStep& step) {
  if (step.instruction == kNoInstruction)
    return;
  Count& count = counting_[step.worker][step.instruction];
  ++count.warps;
  count.lanes += static_cast<uint64_t>(std::popcount(step.lanes));
}

void Coverage::launch_ends(const WatchedLaunch& launch) {
  Code& code = code_of(launch);
  for (size_t i = 0; i < code.names.size(); ++i)
    if (code.names[i] == launch.kernel)
      code.launched.insert(i);
  for (const std::vector<Count>& by_instruction : counting_)
    for (size_t i = 0; i < by_instruction.size(); ++i) {
      code.instructions[i].count.warps += by_instruction[i].warps;
      code.instructions[i].count.lanes += by_instruction[i].lanes;
    }
  counting_.clear();
}

Coverage::Code& Coverage::code_of(const WatchedLaunch& launch) {
  std::string key = fmt::format("{}:{}", launch.ptx, launch.instructions);
  for (const WatchedFunction& function : launch.functions)
    key += fmt::format(":{}", function.name);
  Code& code = codes_[key];
  if (!code.functions.empty())
    return code;
  code.instructions.resize(launch.instructions);
  for (const WatchedFunction& function : launch.functions) {
    code.functions.push_back(function);
    code.functions.back().name = {};
    code.names.emplace_back(function.name);
    std::vector<Place> places;
    for (uint32_t i = 0; i < function.count; ++i)
      places.push_back(launch.place(function.first + i));
    const bool has_sources =
        std::any_of(places.begin(), places.end(), [](const Place& place) { return !place.file.empty(); });
    for (uint32_t i = 0; i < function.count; ++i) {
      Instruction& instruction = code.instructions[function.first + i];
      Place& place = places[i];
      if (!has_sources)
        instruction = {std::string(launch.ptx), place.ptx_line, std::move(place.instruction), {}};
      else if (!place.file.empty() && place.line != 0) // 0: the compiler's own
        instruction = {std::move(place.file), place.line, std::move(place.source_text), {}};
    }
  }
  return code;
}

Coverage::Lines Coverage::lines() const {
  Lines lines;
  for (const auto& [key, code] : codes_)
    for (size_t i = 0; i < code.functions.size(); ++i) {
      const WatchedFunction& function = code.functions[i];
      if (function.is_kernel && !code.launched.contains(i))
        continue;
      for (uint32_t j = 0; j < function.count; ++j) {
        const Instruction& instruction = code.instructions[function.first + j];
        if (instruction.file.empty())
          continue;
        Line& line = lines[instruction.file][instruction.line];
        ++line.instructions;
        line.executed += instruction.count.warps != 0;
        line.most.warps = std::max(line.most.warps, instruction.count.warps);
        line.most.lanes = std::max(line.most.lanes, instruction.count.lanes);
        if (line.text.find(instruction.text) == line.text.npos) // several PTX statements may share a line
          line.text += (line.text.empty() ? "" : " ") + instruction.text;
      }
    }
  return lines;
}

std::vector<std::string> Coverage::not_launched() const {
  std::vector<std::string> names;
  for (const auto& [key, code] : codes_)
    for (size_t i = 0; i < code.functions.size(); ++i)
      if (code.functions[i].is_kernel && !code.launched.contains(i))
        names.push_back(code.names[i]);
  return names;
}

std::string Coverage::text() const {
  std::string text;
  for (const auto& [file, lines] : this->lines()) {
    size_t ran = 0;
    uint64_t instructions = 0, executed = 0;
    for (const auto& [number, line] : lines) {
      ran += line.executed != 0;
      instructions += line.instructions;
      executed += line.executed;
    }
    text += fmt::format("coverage of {}: {} of {} lines ran, {} of {} instructions\n", printable(file), ran,
                        lines.size(), executed, instructions);
    text += fmt::format("{:>12} {:>14} {:>9} {:>6}\n", "by warps", "by lanes", "of it", "line");
    for (const auto& [number, line] : lines) {
      const std::string part =
          line.executed == line.instructions ? "all" : fmt::format("{}/{}", line.executed, line.instructions);
      const std::string row =
          line.executed == 0
              ? fmt::format("{:>12} {:>14} {:>9} {:>6}", "never", "", "", number)
              : fmt::format("{:>12} {:>14} {:>9} {:>6}", line.most.warps, line.most.lanes, part, number);
      text += row + (line.text.empty() ? "" : "  " + printable(line.text)) + "\n";
    }
  }
  if (const std::vector<std::string> names = not_launched(); !names.empty())
    text += fmt::format("not launched: {}\n", printable(fmt::format("{}", fmt::join(names, ", "))));
  return text;
}

nlohmann::json Coverage::to_json() const {
  using nlohmann::json;
  json files = json::array();
  for (const auto& [file, lines] : this->lines()) {
    json all = json::array();
    for (const auto& [number, line] : lines)
      all.push_back({{"line", number},
                     {"warps", line.most.warps},
                     {"lanes", line.most.lanes},
                     {"instructions", line.instructions},
                     {"executed_instructions", line.executed},
                     {"text", line.text}});
    files.push_back({{"file", file}, {"lines", std::move(all)}});
  }
  return {{"files", std::move(files)}, {"not_launched", not_launched()}};
}

} // namespace lemma::cli
