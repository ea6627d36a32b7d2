// Fragments as text.
#include "layout/fragment.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace lemma::layout {

std::string to_text(const Fragment& fragment) {
  const bool packed = fragment.elems_per_register() > 1;
  const int width = packed ? 7 : 5;
  std::string text = fmt::format("{} x {} of {} bits, {} registers a lane", fragment.rows, fragment.cols,
                                 fragment.element_bits, fragment.registers());
  if (fragment.copies() > 1)
    text += fmt::format(", each element {} times", fragment.copies());
  text += fmt::format("; lane:register{}\n", packed ? ".element" : "");
  for (int row = 0; row < fragment.rows; ++row) {
    std::string line;
    for (int col = 0; col < fragment.cols; ++col) {
      const auto place = fragment.find({row, col});
      std::string cell = "-";
      if (place)
        cell = packed ? fmt::format("{}:{}.{}", place->lane, place->reg, place->elem)
                      : fmt::format("{}:{}", place->lane, place->reg);
      fmt::format_to(std::back_inserter(line), "{:<{}}", cell, width);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line;
    text += '\n';
  }
  return text;
}

} // namespace lemma::layout
