// Cells padded to one width, a rule every so many rows and columns; and the palettes, which draw_svg.cc takes
// from here.
#include "draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iterator>

namespace lemma::cli {
namespace {

constexpr int kHues = 8, kShades = 4;

// Hue in degrees, saturation and lightness in [0, 1].
std::string hex_color(double hue, double saturation, double lightness) {
  const double chroma = (1 - std::fabs(2 * lightness - 1)) * saturation;
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue / 30, 12);
    const double value = lightness - chroma / 2 * std::max(-1.0, std::min({k - 3, 9 - k, 1.0}));
    return static_cast<int>(std::lround(255 * value));
  };
  return fmt::format("#{:02x}{:02x}{:02x}", channel(0), channel(8), channel(4));
}

// Black text on the colour, in terminals of 24 bits of colour.
std::string in_ansi(const std::string& text, const std::string& color) {
  const auto channel = [&](size_t at) { return std::strtol(color.substr(at, 2).c_str(), nullptr, 16); };
  return fmt::format("\x1b[30;48;2;{};{};{}m{}\x1b[0m", channel(1), channel(3), channel(5), text);
}

void add_grid(const Grid& grid, const Picture& picture, bool ansi_colors, std::string& out) {
  const auto to = std::back_inserter(out);
  size_t width = widest(grid.column_heads);
  for (const auto& row : grid.cells)
    for (const Cell& cell : row)
      width = std::max(width, cell.text.size());
  const size_t head = widest(grid.row_heads);
  const auto ruled = [&](size_t index, int every) {
    return every > 0 && index > 0 && index % static_cast<size_t>(every) == 0;
  };
  std::string line = fmt::format("{:>{}} ", "", head);
  const auto end_line = [&] {
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
    line.clear();
  };
  if (!grid.title.empty())
    fmt::format_to(to, "\n{}\n", grid.title);
  for (size_t c = 0; c < grid.column_heads.size(); ++c)
    line += fmt::format("{}{:<{}} ", ruled(c, grid.rule_columns) ? "  " : "", grid.column_heads[c], width);
  end_line();
  for (size_t r = 0; r < grid.cells.size(); ++r) {
    if (ruled(r, grid.rule_rows))
      out += "\n";
    line = fmt::format("{:>{}} ", r < grid.row_heads.size() ? grid.row_heads[r] : "", head);
    for (size_t c = 0; c < grid.cells[r].size(); ++c) {
      const Cell& cell = grid.cells[r][c];
      const std::string text = fmt::format("{:<{}}", cell.text, width);
      line += ruled(c, grid.rule_columns) ? "| " : "";
      line += ansi_colors && cell.color >= 0 ? in_ansi(text, color_of(picture.palette, cell.color)) : text;
      line += " ";
    }
    end_line();
  }
}

} // namespace

size_t widest(const std::vector<std::string>& words) {
  size_t width = 0;
  for (const std::string& word : words)
    width = std::max(width, word.size());
  return width;
}

std::string color_of(Palette palette, int color) {
  if (palette == Palette::banks)
    return hex_color(color % kHues * 45.0, 0.75, 0.80);
  const int hue = color / kShades % kHues, shade = color % kShades;
  return hex_color(hue * 45.0, 0.75, 0.93 - 0.07 * shade);
}

std::string to_text(const Picture& picture, bool ansi_colors) {
  std::string out = picture.title + "\n";
  for (const std::string& note : picture.notes)
    out += note + "\n";
  for (const Grid& grid : picture.grids)
    add_grid(grid, picture, ansi_colors, out);
  if (!picture.remarks.empty())
    out += "\n";
  for (const std::string& remark : picture.remarks)
    out += remark + "\n";
  return out;
}

} // namespace lemma::cli
