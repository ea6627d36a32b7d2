// See fragment_data.h. A formula is a sum of digits of an index times their steps.
#include "inspect/fragment_data.h"

#include <fmt/format.h>

namespace lemma::inspect {

using layout::Coord;
using layout::Fragment;
using layout::Mode;
using layout::Modes;

namespace {

std::string formula(const Fragment& fragment, int Coord::* axis) {
  std::string text;
  add_terms(fragment.lane, "lane", axis, text);
  add_terms(fragment.reg, "r", axis, text);
  add_terms(fragment.elem, "e", axis, text);
  return text.empty() ? "0" : text;
}

Coord operator-(Coord a, Coord b) {
  return {a.row - b.row, a.col - b.col};
}

} // namespace

void add_terms(const Modes& modes, std::string_view index, int Coord::* axis, std::string& text) {
  int before = 1;
  for (size_t i = 0; i < modes.size(); ++i) {
    const Mode& mode = modes[i];
    const int stride = mode.stride.*axis;
    bool last = true;
    for (size_t j = i + 1; j < modes.size(); ++j)
      last = last && modes[j].size == 1;
    if (mode.size > 1 && stride != 0) {
      std::string term(index);
      if (before > 1)
        term += fmt::format(" / {}", before);
      if (!last)
        term += fmt::format(" % {}", mode.size);
      if (stride != 1)
        term = term == index ? fmt::format("{} * {}", stride, term) : fmt::format("{} * ({})", stride, term);
      text += text.empty() ? "" : " + ";
      text += term;
    }
    before *= mode.size;
  }
}

std::optional<Modes> modes_of(int count, const std::function<Coord(int)>& at, bool ends_anywhere) {
  Modes modes{};
  size_t used = 0;
  for (int unit = 1; unit < count; ++used) {
    const Coord step = at(unit) - at(0);
    int size = 2;
    while (size * unit < count && at(size * unit) - at((size - 1) * unit) == step)
      ++size;
    if (used == modes.size() || (!ends_anywhere && count % (size * unit) != 0))
      return std::nullopt;
    modes[used] = {size, step};
    unit *= size;
  }
  for (int index = 0; index < count; ++index) { // is it their sum everywhere?
    Coord sum = at(0);
    int rest = index;
    for (const Mode& mode : modes) {
      sum.row += rest % mode.size * mode.stride.row;
      sum.col += rest % mode.size * mode.stride.col;
      rest /= mode.size;
    }
    if (!(sum == at(index)))
      return std::nullopt;
  }
  return modes;
}

void add_fragment(const Fragment& f, MatrixOperand& out) {
  out.rows = f.rows;
  out.cols = f.cols;
  out.lanes = f.lanes();
  out.held_registers = f.registers();
  out.distinct_registers = f.distinct_registers();
  out.register_bits = f.register_bits;
  out.element_bits = f.element_bits;
  out.elems_per_register = f.elems_per_register();
  out.copies = f.copies();
  if (const Mode& mode = f.elem[0]; mode.stride == Coord{0, 1})
    out.adjacent_cols = mode.size;
  else if (mode.stride == Coord{1, 0})
    out.adjacent_rows = mode.size;
  out.row_formula = formula(f, &Coord::row);
  out.col_formula = formula(f, &Coord::col);
  for (int reg = 0; reg < f.registers(); ++reg)
    for (int lane = 0; lane < f.lanes(); ++lane)
      for (int elem = 0; elem < f.elems_per_register(); ++elem) {
        const Coord at = f.at({lane, reg, elem});
        out.elements.push_back({.row = at.row, .col = at.col, .lane = lane, .reg = reg, .elem = elem});
      }
}

} // namespace lemma::inspect
