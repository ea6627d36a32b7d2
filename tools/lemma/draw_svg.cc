// Sizes first (measure, place: grids stand in rows and columns like cells of a table), then text. The page
// for a browser is the same SVG with a few lines of script around it.
#include "draw.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace lemma::cli {
namespace {

// Pixels.
constexpr int kMargin = 24, kGap = 36, kTitleLine = 20, kNoteLine = 17, kCellHeight = 32, kHeadHeight = 20,
              kLegendBox = 40, kLegendHeight = 22;
constexpr double kCharWidth = 6.7; // of the 11 px monospace font
constexpr int kFontSize = 11, kGridTitleSize = 13, kTitleSize = 15;
constexpr size_t kMostColumns = 48, kShownColumns = 16; // of a grid; on each side, of one that has more

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else
      out += c;
  return out;
}

int text_width(size_t characters, int font_size = kFontSize) {
  return static_cast<int>(static_cast<double>(characters) * kCharWidth * font_size / kFontSize) + 1;
}

// A grid as it is drawn.
struct Drawn {
  Grid grid;
  size_t gap = 0, left_out = 0; // the column that stands for so many; 0: none

  // Of the whole grid; the gap is where the first left out was.
  size_t original(size_t column) const {
    return left_out == 0 || column <= gap ? column : column + left_out - 1;
  }
};

Drawn narrowed(const Grid& grid) {
  Drawn drawn{.grid = grid};
  const size_t columns = grid.cells.empty() ? 0 : grid.cells[0].size();
  if (columns <= kMostColumns)
    return drawn;
  drawn.gap = kShownColumns;
  drawn.left_out = columns - 2 * kShownColumns;
  const auto narrow = [&](auto& row, const auto& gap) {
    if (row.size() != columns)
      return;
    const auto begin = row.begin() + static_cast<std::ptrdiff_t>(drawn.gap);
    row.erase(begin, begin + static_cast<std::ptrdiff_t>(drawn.left_out) - 1);
    row[drawn.gap] = gap;
  };
  if (drawn.grid.column_heads.size() == columns)
    drawn.grid.title += fmt::format("; columns {} to {} are left out", grid.column_heads[drawn.gap],
                                    grid.column_heads[drawn.gap + drawn.left_out - 1]);
  narrow(drawn.grid.column_heads, std::string("..."));
  for (auto& row : drawn.grid.cells)
    narrow(row, Cell{.text = "..."});
  return drawn;
}

// Where a grid is, and how large its parts are.
struct Box {
  int x = 0, y = 0; // of the title's top left
  int cell_width = 0, head_width = 0, columns = 0;
  int width = 0, height = 0;
};

Box measure(const Grid& grid) {
  Box box;
  size_t characters = 4;
  for (const auto& row : grid.cells)
    for (const Cell& cell : row)
      characters = std::max(
          {characters, cell.upper.empty() ? cell.text.size() : cell.upper.size(), cell.lower.size()});
  box.cell_width = std::max(text_width(std::max(characters, widest(grid.column_heads))) + 8, 36);
  box.head_width = text_width(widest(grid.row_heads)) + 8;
  const size_t columns = grid.cells.empty() ? 0 : grid.cells[0].size();
  box.columns = static_cast<int>(columns);
  box.height = kTitleLine + kHeadHeight + kCellHeight * static_cast<int>(grid.cells.size());
  return box;
}

// Grids above one another get one width, so that a column of B is above that of D: their cells are as wide as
// those of the grid with the most, or that many times.
void align(const std::vector<Box*>& boxes) {
  int most = 1, head = 0;
  for (const Box* box : boxes) {
    most = std::max(most, box->columns);
    head = std::max(head, box->head_width);
  }
  const bool divides = std::all_of(boxes.begin(), boxes.end(), [&](const Box* box) {
    return box->columns > 0 && most % box->columns == 0;
  });
  int unit = 0;
  for (const Box* box : boxes)
    unit = std::max(unit, (box->cell_width * box->columns + most - 1) / most);
  for (Box* box : boxes) {
    box->head_width = head;
    if (divides)
      box->cell_width = unit * (most / box->columns);
  }
}

std::vector<Box> place(const std::vector<Drawn>& grids, int top) {
  std::vector<Box> boxes;
  for (const Drawn& drawn : grids)
    boxes.push_back(measure(drawn.grid));
  std::map<int, std::vector<Box*>> columns;
  for (size_t i = 0; i < boxes.size(); ++i)
    columns[grids[i].grid.column].push_back(&boxes[i]);
  for (const auto& [column, in_it] : columns)
    align(in_it);
  std::map<int, int> widths, heights; // of the columns and rows of grids
  for (size_t i = 0; i < boxes.size(); ++i) {
    const Grid& grid = grids[i].grid;
    boxes[i].width = std::max(boxes[i].head_width + boxes[i].cell_width * boxes[i].columns,
                              text_width(grid.title.size(), kGridTitleSize));
    widths[grid.column] = std::max(widths[grid.column], boxes[i].width);
    heights[grid.row] = std::max(heights[grid.row], boxes[i].height);
  }
  for (size_t i = 0; i < boxes.size(); ++i) {
    boxes[i].x = kMargin;
    boxes[i].y = top;
    for (const auto& [column, width] : widths)
      boxes[i].x += column < grids[i].grid.column ? width + kGap : 0;
    for (const auto& [row, height] : heights)
      boxes[i].y += row < grids[i].grid.row ? height + kGap : 0;
  }
  return boxes;
}

void add_cell(const Cell& cell, const Picture& picture, int x, int y, int width, std::string& out) {
  const auto to = std::back_inserter(out);
  const std::string fill = cell.color < 0 ? "#ffffff" : color_of(picture.palette, cell.color);
  fmt::format_to(to,
                 "<g class=\"cell\" data-color=\"{}\"><title>{}</title><rect x=\"{}\" y=\"{}\" width=\"{}\" "
                 "height=\"{}\" fill=\"{}\"/>",
                 cell.color, escaped(cell.title.empty() ? cell.text : cell.title), x, y, width, kCellHeight,
                 fill);
  const int middle = x + width / 2;
  if (cell.upper.empty())
    fmt::format_to(to, "<text x=\"{}\" y=\"{}\">{}</text>", middle, y + kCellHeight / 2 + 4,
                   escaped(cell.text));
  else
    fmt::format_to(to,
                   "<text class=\"upper\" x=\"{0}\" y=\"{1}\">{2}</text><text x=\"{0}\" y=\"{3}\">{4}</text>",
                   middle, y + 13, escaped(cell.upper), y + 26, escaped(cell.lower));
  out += "</g>\n";
}

void draw_grid(const Drawn& drawn, const Box& box, const Picture& picture, std::string& out) {
  const auto to = std::back_inserter(out);
  const Grid& grid = drawn.grid;
  fmt::format_to(to, "<text class=\"grid\" x=\"{}\" y=\"{}\">{}</text>\n", box.x, box.y + 13,
                 escaped(grid.title));
  const int left = box.x + box.head_width, top = box.y + kTitleLine + kHeadHeight;
  const int rows = static_cast<int>(grid.cells.size()),
            columns = rows == 0 ? 0 : static_cast<int>(grid.cells[0].size());
  for (int c = 0; c < columns && c < static_cast<int>(grid.column_heads.size()); ++c)
    fmt::format_to(to, "<text class=\"head\" x=\"{}\" y=\"{}\">{}</text>\n",
                   left + c * box.cell_width + box.cell_width / 2, top - 6,
                   escaped(grid.column_heads[static_cast<size_t>(c)]));
  for (int r = 0; r < rows; ++r) {
    const int y = top + r * kCellHeight;
    if (r < static_cast<int>(grid.row_heads.size()))
      fmt::format_to(to, "<text class=\"side\" x=\"{}\" y=\"{}\">{}</text>\n", left - 6,
                     y + kCellHeight / 2 + 4, escaped(grid.row_heads[static_cast<size_t>(r)]));
    for (int c = 0; c < columns; ++c)
      add_cell(grid.cells[static_cast<size_t>(r)][static_cast<size_t>(c)], picture, left + c * box.cell_width,
               y, box.cell_width, out);
  }
  const int right = left + columns * box.cell_width, bottom = top + rows * kCellHeight;
  for (int r = 0; r <= rows; ++r)
    if (r == 0 || r == rows || (grid.rule_rows > 0 && r % grid.rule_rows == 0))
      fmt::format_to(to, "<path class=\"rule\" d=\"M{} {}H{}\"/>\n", left, top + r * kCellHeight, right);
  for (int c = 0; c <= columns; ++c)
    if (c == 0 || c == columns ||
        (grid.rule_columns > 0 &&
         drawn.original(static_cast<size_t>(c)) % static_cast<size_t>(grid.rule_columns) == 0))
      fmt::format_to(to, "<path class=\"rule\" d=\"M{} {}V{}\"/>\n", left + c * box.cell_width, top, bottom);
}

constexpr std::string_view kStyle =
    "text{font:11px ui-monospace,Menlo,Consolas,\"DejaVu Sans Mono\",monospace;fill:#111;text-anchor:middle}"
    ".title,.grid,.note,.remark{text-anchor:start}.title{font-size:15px;font-weight:bold}"
    ".grid{font-size:13px;font-weight:bold}.note{fill:#333}.remark{white-space:pre}"
    ".head,.side{fill:#555}.side{text-anchor:end}.upper{font-weight:bold}"
    ".cell rect,.legend rect{stroke:#777;stroke-width:.5}.rule{stroke:#111;stroke-width:1.6;fill:none}";

std::string drawing_of(const Picture& picture, const std::vector<Drawn>& grids) {
  const int top = kMargin + kTitleLine + kNoteLine * static_cast<int>(picture.notes.size()) + 10;
  const std::vector<Box> boxes = place(grids, top);
  int right = kMargin + text_width(picture.title.size(), kTitleSize), bottom = top;
  for (const std::string& note : picture.notes)
    right = std::max(right, kMargin + text_width(note.size()));
  for (const std::string& remark : picture.remarks)
    right = std::max(right, kMargin + text_width(remark.size()));
  for (const Box& box : boxes) {
    right = std::max(right, box.x + box.width);
    bottom = std::max(bottom, box.y + box.height);
  }
  int legend_box = kLegendBox;
  for (const auto& [color, text] : picture.legend)
    legend_box = std::max(legend_box, text_width(text.size()) + 8);
  const int legend_columns = std::clamp((right - kMargin) / legend_box, 1, 32);
  const int in_row = legend_columns >= 32 ? 32 : legend_columns >= 16 ? 16 : legend_columns >= 8 ? 8 : 4;
  const int legend_rows = (static_cast<int>(picture.legend.size()) + in_row - 1) / in_row;
  const int legend_top = bottom + 22;
  const int remarks_top = legend_top + legend_rows * kLegendHeight + (legend_rows > 0 ? 16 : 0);
  const int height = remarks_top + kNoteLine * static_cast<int>(picture.remarks.size()) + kMargin;
  const int width = right + kMargin;

  std::string out;
  const auto to = std::back_inserter(out);
  fmt::format_to(
      to,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\">\n"
      "<style>{2}</style>\n<rect width=\"{0}\" height=\"{1}\" fill=\"#fff\"/>\n",
      width, height, kStyle);
  fmt::format_to(to, "<text class=\"title\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, kMargin + 10,
                 escaped(picture.title));
  int y = kMargin + kTitleLine + 8;
  for (const std::string& note : picture.notes) {
    fmt::format_to(to, "<text class=\"note\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin, y, escaped(note));
    y += kNoteLine;
  }
  for (size_t i = 0; i < boxes.size(); ++i)
    draw_grid(grids[i], boxes[i], picture, out);
  for (size_t i = 0; i < picture.legend.size(); ++i) {
    const auto& [color, text] = picture.legend[i];
    const int x = kMargin + static_cast<int>(i) % in_row * legend_box,
              box_y = legend_top + static_cast<int>(i) / in_row * kLegendHeight;
    fmt::format_to(
        to,
        "<g class=\"legend\"><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\"/><text x=\"{}\" "
        "y=\"{}\">{}</text></g>\n",
        x, box_y, legend_box, kLegendHeight - 2, color_of(picture.palette, color), x + legend_box / 2,
        box_y + 14, escaped(text));
  }
  for (size_t i = 0; i < picture.remarks.size(); ++i)
    fmt::format_to(to, "<text class=\"remark\" xml:space=\"preserve\" x=\"{}\" y=\"{}\">{}</text>\n", kMargin,
                   remarks_top + kNoteLine * static_cast<int>(i) + 12, escaped(picture.remarks[i]));
  out += "</svg>\n";
  return out;
}

} // namespace

std::string to_svg(const Picture& picture) {
  std::vector<Drawn> grids;
  for (const Grid& grid : picture.grids)
    grids.push_back(narrowed(grid));
  return drawing_of(picture, grids);
}

std::string to_html(const Picture& picture) {
  std::vector<Drawn> grids;
  for (const Grid& grid : picture.grids)
    grids.push_back({.grid = grid});
  constexpr std::string_view kScript = R"(
const cells = document.querySelectorAll('.cell'), says = document.getElementById('says');
for (const cell of cells) {
  cell.addEventListener('mouseenter', () => {
    says.textContent = cell.querySelector('title').textContent;
    for (const other of cells) other.style.opacity = other.dataset.color === cell.dataset.color ? 1 : 0.25;
  });
  cell.addEventListener('mouseleave', () => {
    says.textContent = '\u00a0';
    for (const other of cells) other.style.opacity = 1;
  });
}
)";
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title>\n"
      "<style>body{{margin:0;background:#fff;color:#111}}#says{{position:sticky;top:0;padding:6px "
      "24px;background:#f2f2f2;font:13px ui-monospace,Menlo,Consolas,monospace}}</style></head>\n"
      "<body><div id=\"says\">&nbsp;</div>\n{}<script>{}</script></body></html>\n",
      escaped(picture.title), drawing_of(picture, grids), kScript);
}

} // namespace lemma::cli
