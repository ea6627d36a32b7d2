// One character at a time: the UTF-8 sequence that stands there, or none, and how it is shown. excerpt() uses
// the same step and counts columns with it, so that a caret stays under its text whatever the line holds.
#include "support/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma {
namespace {

constexpr size_t kShownColumns = 110; // source text shown of one line

// The first character of a text that is not empty, as it is shown, and how many bytes it takes.
struct ShownCharacter {
  std::string text;
  size_t bytes = 1;
};

// The bytes of the UTF-8 sequence at the front; 0 if there is none (RFC 3629: no surrogates, nothing
// overlong, nothing beyond U+10FFFF).
size_t sequence_length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const size_t length = first < 0x80   ? 1
                        : first < 0xc2 ? 0
                        : first < 0xe0 ? 2
                        : first < 0xf0 ? 3
                        : first < 0xf5 ? 4
                                       : 0;
  if (length > text.size())
    return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80)
      return 0;
  const bool legal = length < 3 || (first == 0xe0   ? byte(1) >= 0xa0
                                    : first == 0xed ? byte(1) < 0xa0
                                    : first == 0xf0 ? byte(1) >= 0x90
                                    : first == 0xf4 ? byte(1) < 0x90
                                                    : true);
  return legal ? length : 0;
}

uint32_t code_point(std::string_view sequence) {
  if (sequence.size() == 1)
    return static_cast<unsigned char>(sequence[0]);
  uint32_t point = static_cast<unsigned char>(sequence[0]) & (0x7fu >> sequence.size());
  for (const char c : sequence.substr(1))
    point = point << 6 | (static_cast<unsigned char>(c) & 0x3f);
  return point;
}

// Beyond ASCII: what is not seen but changes what is.
bool is_hidden(uint32_t point) {
  return (point >= 0x80 && point < 0xa0) ||      // C1 controls
         point == 0xad || point == 0x61c ||      // soft hyphen, Arabic letter mark
         (point >= 0x200b && point <= 0x200f) || // zero widths, left-to-right and right-to-left marks
         (point >= 0x2028 && point <= 0x202e) || // line and paragraph separators, embeddings, overrides
         (point >= 0x2060 && point <= 0x206f) || // word joiner, isolates
         point == 0xfeff || (point >= 0xfff9 && point <= 0xfffb) ||
         (point >= 0xe0000 && point <= 0xe007f); // tags
}

ShownCharacter first_character(std::string_view text) {
  const size_t length = sequence_length(text);
  const auto byte = static_cast<unsigned char>(text[0]);
  if (length == 0 || byte < 0x20 || byte == 0x7f)
    return {fmt::format("\\x{:02x}", byte), 1};
  const std::string_view sequence = text.substr(0, length);
  const uint32_t point = code_point(sequence);
  return {is_hidden(point) ? fmt::format("\\u{{{:x}}}", point) : std::string(sequence), length};
}

std::string escaped(std::string_view text, std::string_view kept) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const ShownCharacter shown =
        kept.find(text[0]) != kept.npos ? ShownCharacter{std::string(1, text[0]), 1} : first_character(text);
    out += shown.text;
    text.remove_prefix(shown.bytes);
  }
  return out;
}

} // namespace

std::string printable(std::string_view text) {
  return escaped(text, "");
}

std::string printable_lines(std::string_view text) {
  return escaped(text, "\n\t");
}

Excerpt excerpt(std::string_view line, size_t column, size_t length) {
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  column = std::min(column, line.size());
  // Where to cut without taking a character of several bytes apart.
  const auto boundary = [&](size_t i) {
    while (i > 0 && i < line.size() && (static_cast<unsigned char>(line[i]) & 0xc0) == 0x80)
      --i;
    return i;
  };
  Excerpt shown;
  if (line.size() > kShownColumns && column > kShownColumns / 2) {
    const size_t cut = boundary(column - kShownColumns / 2);
    line.remove_prefix(cut);
    column -= cut;
    shown = {"...", "   "};
  }
  const std::string_view tail = line.size() > kShownColumns ? "..." : "";
  line = line.substr(0, boundary(kShownColumns));
  column = std::min(column, line.size());
  const size_t end = column + std::min(length, line.size() - column);
  std::string marks;
  for (size_t i = 0; i < line.size();) {
    const ShownCharacter c =
        line[i] == '\t' ? ShownCharacter{.text = "\t", .bytes = 1} : first_character(line.substr(i));
    const size_t columns = c.text.size() == c.bytes ? 1 : c.text.size(); // a character, or its escape
    shown.line += c.text;
    if (i < column)
      shown.marks += line[i] == '\t' ? "\t" : std::string(columns, ' ');
    else if (i < end)
      marks += std::string(columns, '~');
    i += c.bytes;
  }
  if (marks.empty())
    marks = "~";
  marks[0] = '^';
  shown.line += tail;
  shown.marks += marks;
  return shown;
}

} // namespace lemma
