// A picture is some grids of coloured cells. Whoever makes one says what the cells mean; the renderers here
// do not know.
//
//   to_text   grids below one another, for a terminal; colours as ANSI backgrounds if wished
//   to_svg    grids as they are placed, those of one column in line, headers, legend; dark on light, no
//             scripts; of a wide grid the middle is left out
//   to_html   the same in a page of its own, and whole; pointing at a cell shows all cells of its colour, and
//   its title
//
// Tests: tests/cli/.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace lemma::cli {

// Backgrounds, all light: `lanes` has a hue for each group of four and a lightness within it, so that 32
// differ; `banks` has eight hues.
enum class Palette { lanes, banks };

struct Cell {
  int color = -1;                  // of the palette; -1: blank
  std::string text;                // in one line, as to_text has it
  std::string upper = {}, lower{}; // in two, as the drawings have it; empty: text
  std::string title = {};          // what pointing at it says
};

struct Grid {
  std::string title;
  int column = 0, row = 0; // where it stands among the picture's grids
  std::vector<std::string> column_heads, row_heads;
  std::vector<std::vector<Cell>> cells; // [row][column]
  int rule_rows = 8, rule_columns = 8;  // a thicker line after so many; 0: none
};

struct Picture {
  std::string title;
  std::vector<std::string> notes; // below the title
  Palette palette = Palette::lanes;
  std::vector<Grid> grids;
  std::vector<std::pair<int, std::string>> legend; // colour, what it means
  // Tables and other text below, as it is.
  std::vector<std::string> remarks;
};

// Characters of the longest.
size_t widest(const std::vector<std::string>& words);

// "#ffd9d9"
std::string color_of(Palette palette, int color);

std::string to_text(const Picture& picture, bool ansi_colors);
std::string to_svg(const Picture& picture);
std::string to_html(const Picture& picture);

} // namespace lemma::cli
