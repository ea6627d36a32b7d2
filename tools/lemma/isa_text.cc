// One instruction explained, and entries of lists: the public API's structures (lemma/isa.h) as text and
// JSON.
#include "isa_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace lemma::cli {
namespace {

using nlohmann::json;

std::string held(const MatrixOperand& operand) {
  if (operand.in_memory)
    return "shared memory, by matrix descriptor";
  if (operand.in_tensor_memory)
    return fmt::format("{} column{} of tensor memory{}", operand.held_registers,
                       operand.held_registers == 1 ? "" : "s",
                       operand.or_in_memory ? ", or shared memory, by matrix descriptor" : "");
  std::string text = fmt::format("{} x .{}", operand.registers, operand.register_type);
  if (operand.or_in_memory)
    text += ", or shared memory, by matrix descriptor";
  return text;
}

bool in_tensor_memory(const MatrixDescription& description) {
  return std::any_of(description.operands.begin(), description.operands.end(),
                     [](const MatrixOperand& operand) { return operand.in_tensor_memory; });
}

void add_operands(const MatrixDescription& description, std::string& out) {
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "\n{:<11}{:<12}{:<8}{}\n", "operand", "elements", "type",
                 in_tensor_memory(description) ? "where" : "registers of a thread");
  for (const MatrixOperand& operand : description.operands)
    fmt::format_to(to, "  {:<9}{:<12}{:<8}{}\n", operand.name,
                   fmt::format("{} x {}", operand.rows, operand.cols), operand.type, held(operand));
}

void add_layout(const MatrixDescription& description, std::string& out) {
  const auto to = std::back_inserter(out);
  const bool tensor = in_tensor_memory(description);
  fmt::format_to(to, "\nlayout: {} is at\n",
                 tensor ? "in tensor memory, columns from the operand's address on, element (row, col)"
                        : "element e (0: lowest bits) of register r of a lane");
  for (const MatrixOperand& operand : description.operands) {
    if (operand.in_memory)
      continue;
    if (operand.in_tensor_memory) {
      fmt::format_to(
          to, "  {:<9} lane = {}{}\n            column = {}{}\n", operand.name, operand.lane_formula,
          operand.copies > 1 ? fmt::format("; the first of {}", operand.copies) : "", operand.column_formula,
          operand.elems_per_register > 1 ? fmt::format("; {} bits each, lowest first", operand.element_bits)
                                         : "");
      continue;
    }
    std::string copies;
    if (operand.copies > 1)
      copies = operand.held_registers == 1 // metadata, scales
                   ? fmt::format("; of the {} copies the selector picks one", operand.copies)
                   : fmt::format("; r < {}, the others are copies", operand.distinct_registers);
    fmt::format_to(to, "  {:<9} row = {}\n            col = {}{}\n", operand.name, operand.row_formula,
                   operand.col_formula, copies);
  }
  fmt::format_to(to, "  drawn: lemma layout {}\n", description.spelling);
}

void add_arithmetic(const MatrixDescription& description, std::string& out) {
  if (!description.arithmetic.empty())
    out += "\narithmetic of each machine\n";
  for (const ArithmeticRule& rule : description.arithmetic)
    fmt::format_to(std::back_inserter(out), "  {:<8}{} ({})\n", rule.arch, rule.rule, rule.evidence);
}

void add_readings(const MatrixDescription& description, std::string& out) {
  if (!description.readings.empty())
    out += "\nwhere sources differ or are silent\n";
  for (const std::string& reading : description.readings)
    fmt::format_to(std::back_inserter(out), "  {}\n", reading);
}

json target_list(const std::vector<TargetRange>& targets) {
  constexpr const char* kCovers[] = {"this and up", "family", "this alone"};
  json list = json::array();
  for (const TargetRange& target : targets)
    list.push_back({{"target", target.target}, {"covers", kCovers[static_cast<int>(target.covers)]}});
  return list;
}

json to_json(const HardwareCheck& checked) {
  if (!checked.any())
    return nullptr;
  return {{"gpu", checked.gpu},
          {"cases", checked.cases},
          {"outputs", checked.outputs},
          {"records", checked.records}};
}

json to_json(const Availability& availability) {
  return {{"targets", target_list(availability.targets)},
          {"ptx", fmt::format("{}.{}", availability.since.major, availability.since.minor)},
          {"section", availability.section}};
}

// "327,680"
std::string outputs_text(uint64_t outputs) {
  std::string digits = fmt::format("{}", outputs);
  for (size_t at = digits.size(); at > 3;)
    digits.insert(at -= 3, ",");
  return digits;
}

} // namespace

std::string to_string(const HardwareCheck& checked) {
  if (!checked.any())
    return "not checked on hardware";
  std::string_view gpu = checked.gpu;
  if (gpu.starts_with("NVIDIA "))
    gpu.remove_prefix(7);
  return fmt::format("{}, {} case{}", gpu, checked.cases, checked.cases == 1 ? "" : "s");
}

std::string explanation(const MatrixDescription& description) {
  const MatrixInstruction& instruction = description.instruction;
  const Availability& availability = instruction.availability;
  std::string out = fmt::format("{}\n{}\n\n", description.spelling, description.summary);
  const auto to = std::back_inserter(out);
  fmt::format_to(to, "form            {}\n", instruction.pattern);
  if (!description.operand_names.empty())
    fmt::format_to(to, "operands        {}\n", fmt::join(description.operand_names, ", "));
  fmt::format_to(to, "since           PTX ISA {}.{}, {}\n", availability.since.major,
                 availability.since.minor, availability.targets_text);
  fmt::format_to(to, "section         https://docs.nvidia.com/cuda/parallel-thread-execution/#{}\n",
                 availability.section);
  const HardwareCheck& checked = instruction.checked;
  fmt::format_to(to, "checked         {}{}\n", to_string(checked),
                 checked.any() ? fmt::format(" of all its spellings, {} outputs (tests/golden/{})",
                                             outputs_text(checked.outputs), fmt::join(checked.records, ", "))
                               : "");
  if (!description.other_shapes.empty())
    fmt::format_to(to, "other shapes    {}\n", fmt::join(description.other_shapes, ", "));
  if (description.byte_containers)
    out += "containers      elements take 8 bits: e2m1 in bits 2 to 5, e2m3 and e3m2 in bits 0 to 5\n";
  if (description.computes)
    fmt::format_to(to, "operations      {} {}\n", description.flops,
                   description.by_thread      ? "an instruction"
                   : description.by_warpgroup ? "a warpgroup"
                                              : "a warp");
  if (description.by_thread)
    fmt::format_to(to, "idesc           0x{0:08x}: lemma descriptor 0x{0:08x} --of {1}\n",
                   description.instruction_descriptor, description.spelling);
  add_operands(description, out);
  add_layout(description, out);
  add_arithmetic(description, out);
  add_readings(description, out);
  return out;
}

json summary(const MatrixInstruction& instruction) {
  json out = to_json(instruction.availability);
  out["name"] = instruction.pattern;
  out["opcode"] = instruction.opcode;
  out["shape"] = {{"m", instruction.m}, {"n", instruction.n}, {"k", instruction.k}};
  out["types"] = {{"d", instruction.d}, {"a", instruction.a}, {"b", instruction.b}, {"c", instruction.c}};
  out["spellings"] = instruction.spellings.size();
  out["first_spelling"] = instruction.spellings.front();
  out["checked"] = to_json(instruction.checked);
  return out;
}

json summary(const InstructionForm& form) {
  json out = to_json(form.availability);
  out["syntax"] = form.syntax;
  out["where"] = form.where;
  out["checked"] = to_json(form.checked);
  for (const ApproximateFunction& function : form.approximate)
    out["approximate"].push_back({{"name", function.name},
                                  {"checked_inputs", function.checked_inputs},
                                  {"checked_on", "sm_90"},
                                  {"other_machines", "assumed"}});
  return out;
}

json explained(const MatrixDescription& description) {
  json out = summary(description.instruction);
  out["spelling"] = description.spelling;
  out["flops"] = description.flops;
  json operands = json::array();
  for (const MatrixOperand& operand : description.operands) {
    json entry = {{"name", operand.name}, {"type", operand.type}};
    entry["in_memory"] = operand.in_memory ? json(true)
                         : operand.or_in_memory
                             ? json(operand.in_tensor_memory ? "or tensor memory" : "or registers")
                             : json(false);
    if (operand.in_tensor_memory) {
      entry["in_tensor_memory"] = true;
      entry["rows"] = operand.rows;
      entry["cols"] = operand.cols;
      entry["columns"] = operand.held_registers;
      entry["copies"] = operand.copies;
      entry["lane"] = operand.lane_formula;
      entry["column"] = operand.column_formula;
      entry["notes"] = operand.notes;
    } else if (!operand.in_memory) {
      entry["registers"] = operand.registers;
      entry["register_type"] = operand.register_type;
      entry["rows"] = operand.rows;
      entry["cols"] = operand.cols;
      entry["lanes"] = operand.lanes;
      entry["row"] = operand.row_formula;
      entry["col"] = operand.col_formula;
    }
    operands.push_back(std::move(entry));
  }
  out["operands"] = std::move(operands);
  json machines = json::array();
  for (const ArithmeticRule& rule : description.arithmetic)
    machines.push_back({{"arch", rule.arch}, {"rule", rule.rule}, {"evidence", rule.evidence}});
  out["arithmetic"] = std::move(machines);
  if (description.by_thread) {
    out["instruction_descriptor"] = fmt::format("0x{:08x}", description.instruction_descriptor);
    out["readings"] = description.readings;
  }
  return out;
}

} // namespace lemma::cli
