// A picture is made of the operand's elements: the first holder of each (holders), then a cell for each,
// neighbours of one register merged. Metadata and scales are drawn beside their matrix, for selector 0.
#include "layout_picture.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace lemma::cli {
namespace {

using nlohmann::json;

constexpr int kWarpLanes = 32, kTensorLanes = 128;

std::string head(int first, int count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

// Where an element is in a list of all, row by row.
size_t place_in(const MatrixOperand& operand, int row, int col) {
  return static_cast<size_t>(row) * static_cast<size_t>(operand.cols) + static_cast<size_t>(col);
}

// The first holder of every element, row by row.
std::vector<std::optional<FragmentElement>> holders(const MatrixOperand& operand) {
  std::vector<std::optional<FragmentElement>> first(place_in(operand, operand.rows, 0));
  for (const FragmentElement& e : operand.elements)
    if (auto& place = first[place_in(operand, e.row, e.col)]; !place)
      place = e;
  return first;
}

// Neighbours that a register holds together are drawn as one cell, of which `place` is the first.
Cell cell_of(const MatrixOperand& operand, const std::optional<FragmentElement>& place) {
  if (!place)
    return {.text = "-"};
  Cell cell;
  cell.color = place->lane % kWarpLanes;
  const int together = operand.adjacent_rows * operand.adjacent_cols;
  const int first = place->elem, last = first + together - 1;
  const bool whole = together == operand.elems_per_register;
  const std::string part = whole           ? ""
                           : first == last ? fmt::format(".{}", first)
                                           : fmt::format(".{}-{}", first, last);
  const bool tensor = operand.in_tensor_memory;
  cell.upper = fmt::format("{}{}", tensor ? "L" : "T", place->lane);
  cell.lower = fmt::format("{}{}{}", tensor ? "c" : "r", place->reg, part);
  cell.text = cell.upper + ":" + cell.lower;
  const int bits = operand.element_bits;
  cell.title = fmt::format("{}[{}, {}] is in lane {}, {} {}, bits {} to {}", operand.name,
                           head(place->row, operand.adjacent_rows), head(place->col, operand.adjacent_cols),
                           place->lane, tensor ? "column" : "register", place->reg, first * bits,
                           (last + 1) * bits - 1);
  return cell;
}

std::string registers_note(const MatrixOperand& operand) {
  if (operand.in_tensor_memory)
    return fmt::format("{}: {} x {} of {}, {} column{} of tensor memory", operand.name, operand.rows,
                       operand.cols, operand.type, operand.held_registers,
                       operand.held_registers == 1 ? "" : "s");
  if (operand.kind == MatrixOperand::Kind::metadata)
    return fmt::format("metadata: {} x {} fields of 4 bits, 1 register a lane", operand.rows, operand.cols);
  std::string note = fmt::format("{}: {} x {} of {}, {} register{} of {} bits a lane", operand.name,
                                 operand.rows, operand.cols, operand.type, operand.held_registers,
                                 operand.held_registers == 1 ? "" : "s", operand.register_bits);
  if (operand.copies > 1 && operand.held_registers > 1)
    note += fmt::format(" (r{} and up hold copies)", operand.distinct_registers);
  return note;
}

// It loads or stores matrices of 8 x 8 whose rows lanes give the addresses of.
bool is_addressed(const MatrixDescription& description) {
  return description.instruction.opcode == "ldmatrix" || description.instruction.opcode == "stmatrix";
}

// The grid of an operand. For loads and stores of 8 x 8 matrices the row's head names the lane with its
// address.
Grid grid_of(const MatrixDescription& description, const MatrixOperand& operand) {
  const std::vector<std::optional<FragmentElement>> first = holders(operand);
  Grid grid;
  grid.title = registers_note(operand);
  for (int row = 0; row < operand.rows; row += operand.adjacent_rows) {
    std::string side = head(row, operand.adjacent_rows);
    if (is_addressed(description))
      side = fmt::format("[T{}] {}", side, side);
    grid.row_heads.push_back(std::move(side));
    std::vector<Cell> cells;
    for (int col = 0; col < operand.cols; col += operand.adjacent_cols)
      cells.push_back(cell_of(operand, first[place_in(operand, row, col)]));
    grid.cells.push_back(std::move(cells));
  }
  for (int col = 0; col < operand.cols; col += operand.adjacent_cols)
    grid.column_heads.push_back(head(col, operand.adjacent_cols));
  grid.rule_rows = std::max(1, 8 / operand.adjacent_rows);
  grid.rule_columns = std::max(1, 8 / operand.adjacent_cols);
  return grid;
}

// "T5:r1.0-1", and what a row and a column of the drawing are.
std::vector<std::string> notes_of(const MatrixDescription& description,
                                  const std::vector<MatrixOperand>& operands) {
  const bool tensor = operands.front().in_tensor_memory;
  std::vector<std::string> notes = {
      tensor ? "Ln: lane n of tensor memory, cm: column m from the operand's address; a cell is what stands "
               "side by side in it, lowest bits first; .i: its element i"
             : "Tn: lane n, rm: its register m; a cell is what the register holds side by side, "
               "lowest bits first; .i: its element i"};
  if (tensor && std::any_of(operands.begin(), operands.end(),
                            [](const MatrixOperand& operand) { return operand.lanes > kTensorLanes; }))
    notes.emplace_back("lanes from 128 on are those of the second CTA of the pair");
  if (!tensor && std::any_of(operands.begin(), operands.end(),
                             [](const MatrixOperand& operand) { return operand.lanes > kWarpLanes; }))
    notes.emplace_back("lanes count through the four warps of a warpgroup; colours repeat with each warp");
  if (is_addressed(description))
    notes.emplace_back("[Tn]: the lane whose address the row is at; rows are those of memory");
  for (const MatrixOperand& operand : operands)
    notes.insert(notes.end(), operand.notes.begin(), operand.notes.end());
  return notes;
}

} // namespace

Picture picture_of(const MatrixDescription& description, const std::vector<MatrixOperand>& operands) {
  Picture picture;
  picture.title = description.spelling;
  picture.notes = notes_of(description, operands);
  for (const MatrixOperand& operand : operands) {
    Grid grid = grid_of(description, operand);
    if (operands.size() > 1) {
      const bool aside = operand.kind != MatrixOperand::Kind::matrix;
      grid.column = operand.matrix != 'a' ? 1 : aside ? -1 : 0;
      grid.row = operand.matrix != 'b' ? 1 : aside ? -1 : 0;
    }
    picture.grids.push_back(std::move(grid));
  }
  const bool tensor = operands.front().in_tensor_memory;
  for (int lane = 0; lane < kWarpLanes; ++lane)
    picture.legend.emplace_back(lane, fmt::format("{}{}", tensor ? "L" : "T", lane));
  return picture;
}

json elements_of(const MatrixOperand& operand) {
  std::vector<FragmentElement> by_place = operand.elements;
  std::stable_sort(by_place.begin(), by_place.end(),
                   [](const FragmentElement& one, const FragmentElement& other) {
                     return std::pair(one.row, one.col) < std::pair(other.row, other.col);
                   });
  const int bits = operand.element_bits;
  json elements = json::array();
  for (const FragmentElement& e : by_place)
    elements.push_back({{"row", e.row},
                        {"col", e.col},
                        {"lane", e.lane},
                        {operand.in_tensor_memory ? "column" : "register", e.reg},
                        {"bits", {e.elem * bits, (e.elem + 1) * bits - 1}}});
  json object = {{"operand", operand.name}, {"type", operand.type},           {"rows", operand.rows},
                 {"cols", operand.cols},    {"element_bits", bits},           {"lanes", operand.lanes},
                 {"notes", operand.notes},  {"elements", std::move(elements)}};
  if (operand.in_tensor_memory) {
    object["columns"] = operand.held_registers;
    object["copies"] = operand.copies;
    object["lane"] = operand.lane_formula;
    object["column"] = operand.column_formula;
  } else {
    object["registers"] = operand.held_registers;
    object["register_bits"] = operand.register_bits;
    object["row"] = operand.row_formula;
    object["col"] = operand.col_formula;
  }
  return object;
}

} // namespace lemma::cli
