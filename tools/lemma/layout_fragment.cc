// A picture is made by asking the fragment: for each lane, register and element, which row and column
// (holders); then a cell for each, neighbours of one register merged. Metadata and scales are drawn beside
// their matrix, for selector 0.
#include "layout_picture.h"

#include "isa_text.h"
#include "layout/sparse.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

namespace lemma::cli {
namespace {

using layout::Coord;
using layout::Fragment;
using layout::Matrix;
using layout::Place;
using nlohmann::json;

constexpr int kWarpLanes = 32;

// Neighbours that a register holds together are drawn as one cell: so many rows, so many columns of the
// matrix.
struct Merged {
  int rows = 1, cols = 1;
  int elems() const { return rows * cols; }
};

Merged merged(const Fragment& f) {
  const layout::Mode& mode = f.elem[0];
  if (mode.stride == Coord{0, 1})
    return {1, mode.size};
  if (mode.stride == Coord{1, 0})
    return {mode.size, 1};
  return {};
}

std::string head(int first, int count) {
  return count == 1 ? fmt::format("{}", first) : fmt::format("{}-{}", first, first + count - 1);
}

// The first holder of every element, row by row.
std::vector<std::optional<Place>> holders(const Fragment& f) {
  std::vector<std::optional<Place>> first(static_cast<size_t>(f.rows * f.cols));
  for (int reg = 0; reg < f.registers(); ++reg)
    for (int lane = 0; lane < f.lanes(); ++lane)
      for (int elem = 0; elem < f.elems_per_register(); ++elem) {
        const Coord at = f.at({lane, reg, elem});
        auto& place = first[static_cast<size_t>(at.row * f.cols + at.col)];
        if (!place)
          place = Place{lane, reg, elem};
      }
  return first;
}

Cell cell_of(const MatrixOperand& operand, Coord at, Merged step, const std::optional<Place>& place) {
  const Fragment& f = operand.fragment;
  if (!place)
    return {.text = "-"};
  Cell cell;
  cell.color = place->lane % kWarpLanes;
  const int first = place->elem, last = first + step.elems() - 1;
  const bool whole = step.elems() == f.elems_per_register();
  const std::string part = whole           ? ""
                           : first == last ? fmt::format(".{}", first)
                                           : fmt::format(".{}-{}", first, last);
  cell.upper = fmt::format("T{}", place->lane);
  cell.lower = fmt::format("r{}{}", place->reg, part);
  cell.text = cell.upper + ":" + cell.lower;
  const int bits = f.element_bits;
  cell.title = fmt::format("{}[{}, {}] is in lane {}, register {}, bits {} to {}", operand.name,
                           head(at.row, step.rows), head(at.col, step.cols), place->lane, place->reg,
                           first * bits, (last + 1) * bits - 1);
  return cell;
}

std::string registers_note(const MatrixOperand& operand) {
  const Fragment& f = operand.fragment;
  std::string note = fmt::format("{}: {} x {} of {}, {} register{} of {} bits a lane", operand.name, f.rows,
                                 f.cols, isa::to_string(operand.type), f.registers(),
                                 f.registers() == 1 ? "" : "s", f.register_bits);
  if (f.copies() > 1 && f.registers() > 1)
    note += fmt::format(" (r{} and up hold copies)", f.distinct_registers());
  if (operand.is_metadata())
    note = fmt::format("metadata: {} x {} fields of 4 bits, 1 register a lane", f.rows, f.cols);
  return note;
}

// The grid of an operand. For loads and stores of 8 x 8 matrices the row's head names the lane with its
// address.
Grid grid_of(const MatrixName& name, const MatrixOperand& operand) {
  const Fragment& f = operand.fragment;
  const Merged step = merged(f);
  const std::vector<std::optional<Place>> first = holders(f);
  Grid grid;
  grid.title = registers_note(operand);
  const bool addressed =
      name.row->opcode == isa::Opcode::ldmatrix || name.row->opcode == isa::Opcode::stmatrix;
  for (int row = 0; row < f.rows; row += step.rows) {
    std::string side = head(row, step.rows);
    if (addressed)
      side = fmt::format("[T{}] {}", side, side);
    grid.row_heads.push_back(std::move(side));
    std::vector<Cell> cells;
    for (int col = 0; col < f.cols; col += step.cols)
      cells.push_back(cell_of(operand, {row, col}, step, first[static_cast<size_t>(row * f.cols + col)]));
    grid.cells.push_back(std::move(cells));
  }
  for (int col = 0; col < f.cols; col += step.cols)
    grid.column_heads.push_back(head(col, step.cols));
  grid.rule_rows = std::max(1, 8 / step.rows);
  grid.rule_columns = std::max(1, 8 / step.cols);
  return grid;
}

// "T5:r1.0-1", and what a row and a column of the drawing are.
std::vector<std::string> notes_of(const MatrixName& name, const std::vector<MatrixOperand>& operands) {
  std::vector<std::string> notes = {
      "Tn: lane n, rm: its register m; a cell is what the register holds side by side, "
      "lowest bits first; .i: its element i"};
  for (const MatrixOperand& operand : operands) {
    if (operand.fragment.lanes() > kWarpLanes)
      notes.emplace_back("lanes count through the four warps of a warpgroup; colours repeat with each warp");
    if (operand.fragment.lanes() > kWarpLanes)
      break;
  }
  if (name.row->opcode == isa::Opcode::ldmatrix || name.row->opcode == isa::Opcode::stmatrix)
    notes.emplace_back("[Tn]: the lane whose address the row is at; rows are those of memory");
  for (const MatrixOperand& operand : operands)
    if (operand.is_metadata()) {
      const int selectors = layout::selectors(operand.fragment);
      notes.push_back(fmt::format(
          "metadata: a field is a chunk of {} columns of B, two indices of two bits, the first in "
          "the low bits{}",
          name.exact.shape.k / operand.fragment.cols,
          selectors > 1 ? fmt::format("; drawn for selector 0, of {}: with s it is lanes {}s "
                                      "further on",
                                      selectors, layout::metadata_lanes(operand.fragment))
                        : ""));
    }
  for (const MatrixOperand& operand : operands)
    if (operand.is_scales()) {
      const layout::ScaleFragment scales = isa::scale_fragment_of(name.exact, operand.matrix);
      const int lanes = scales.offset(0, 1).lane;
      std::string note =
          fmt::format("{}: drawn for selector {{byte-id, thread-id}} = {{0, 0}}", operand.name);
      if (scales.per_line() < layout::kScaleBytes)
        note += fmt::format("; byte-id, {}, is the element at which they begin",
                            scales.per_line() == 1 ? "0 to 3" : "0 or 2");
      note += fmt::format("; with thread-id t, 0 to {}, it is the lane {}t further on", scales.threads() - 1,
                          lanes == 1 ? "" : fmt::format("{}", lanes));
      notes.push_back(std::move(note));
    }
  if (name.row->opcode == isa::Opcode::movmatrix)
    notes.emplace_back("d: in the rows and columns of a, whose transpose it is");
  return notes;
}

} // namespace

Picture picture_of(const MatrixName& name, const std::vector<MatrixOperand>& operands) {
  Picture picture;
  picture.title = name.spelling;
  picture.notes = notes_of(name, operands);
  for (const MatrixOperand& operand : operands) {
    Grid grid = grid_of(name, operand);
    if (operands.size() > 1) {
      const bool aside = operand.is_metadata() || operand.is_scales();
      grid.column = operand.matrix != Matrix::a ? 1 : aside ? -1 : 0;
      grid.row = operand.matrix != Matrix::b ? 1 : aside ? -1 : 0;
    }
    picture.grids.push_back(std::move(grid));
  }
  for (int lane = 0; lane < kWarpLanes; ++lane)
    picture.legend.emplace_back(lane, fmt::format("T{}", lane));
  return picture;
}

json elements_of(const MatrixOperand& operand) {
  const Fragment& f = operand.fragment;
  std::vector<std::pair<Coord, Place>> places;
  for (int reg = 0; reg < f.registers(); ++reg)
    for (int lane = 0; lane < f.lanes(); ++lane)
      for (int elem = 0; elem < f.elems_per_register(); ++elem)
        places.emplace_back(f.at({lane, reg, elem}), Place{lane, reg, elem});
  std::stable_sort(places.begin(), places.end(), [](const auto& one, const auto& other) {
    return std::pair(one.first.row, one.first.col) < std::pair(other.first.row, other.first.col);
  });
  json elements = json::array();
  for (const auto& [at, place] : places)
    elements.push_back({{"row", at.row},
                        {"col", at.col},
                        {"lane", place.lane},
                        {"register", place.reg},
                        {"bits", {place.elem * f.element_bits, (place.elem + 1) * f.element_bits - 1}}});
  return {{"operand", operand.name},
          {"type", isa::to_string(operand.type)},
          {"rows", f.rows},
          {"cols", f.cols},
          {"element_bits", f.element_bits},
          {"registers", f.registers()},
          {"register_bits", f.register_bits},
          {"lanes", f.lanes()},
          {"row", row_formula(f)},
          {"col", col_formula(f)},
          {"elements", std::move(elements)}};
}

} // namespace lemma::cli
