// The library renders messages as plain text, and says in support/diagnostic.h and runtime/report_text.h how:
// here each line is told by its form. A line of another form stays as it is.
#include "terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace lemma::cli {
namespace {

constexpr std::string_view kBold = "1", kRed = "1;31", kYellow = "1;33", kBlue = "1;34", kGreen = "1;32",
                           kCyan = "36", kDim = "2";

std::string painted(std::string_view text, std::string_view color) {
  return text.empty() ? std::string() : fmt::format("\x1b[{}m{}\x1b[0m", color, text);
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

struct Severity {
  std::string_view word, color;
};
constexpr Severity kSeverities[] = {{"fault", kRed},         {"error", kRed},   {"internal", kRed},
                                    {"stopped", kYellow},    {"runs", kYellow}, {"waits", kYellow},
                                    {"warning", kYellow},    {"note", kBlue},   {"unsupported", kYellow},
                                    {"and before it", kBlue}};

// "k.ptx:12: fault[trap]: text": the word after the place, which ends in a number or is a name alone.
std::string headline(std::string_view line) {
  for (size_t at = line.find(": "); at != line.npos; at = line.find(": ", at + 1))
    for (const Severity& severity : kSeverities) {
      const std::string_view rest = line.substr(at + 2);
      if (!rest.starts_with(severity.word))
        continue;
      size_t end = severity.word.size();
      if (end < rest.size() && rest[end] == '[')
        end = std::min(rest.find(']'), rest.size() - 1) + 1;
      if (end < rest.size() && rest[end] != ':')
        continue;
      const bool has_text = end < rest.size();
      return painted(line.substr(0, at + 1), kBold) + " " +
             painted(rest.substr(0, end + (has_text ? 1 : 0)), severity.color) +
             painted(rest.substr(std::min(end + 1, rest.size())), severity.color == kRed ? kBold : "0");
    }
  return std::string(line);
}

// " 12 | text", or the marks below it.
bool is_excerpt(std::string_view line) {
  const size_t bar = line.find('|');
  return line.starts_with(' ') && bar != line.npos &&
         std::all_of(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(bar),
                     [](char c) { return c == ' ' || is_digit(c); });
}

// Where the text of "  where:   text" begins; npos: the line is no note.
size_t note_text(std::string_view line) {
  constexpr size_t kLongestLabel = 16;
  const size_t colon = line.find(':');
  if (!line.starts_with("  ") || line.find_first_not_of(' ') != 2 || colon == line.npos ||
      colon > kLongestLabel || !line.substr(colon + 1).starts_with(' '))
    return line.npos;
  return line.find_first_not_of(' ', colon + 1);
}

// Where what a line goes on with begins: under its text, or a little further in than itself.
size_t indent_of(std::string_view line, size_t columns) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  size_t under = note_text(line);
  if (under == line.npos) {
    const size_t gap = line.find("  ", begin); // "  --grid X,Y   CTAs"
    under = gap == line.npos ? line.npos : line.find_first_not_of(' ', gap);
  }
  return under != line.npos && under <= columns / 2 ? under : begin + 2;
}

// Characters, not bytes, of UTF-8.
size_t width_of(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string broken_line(std::string_view line, size_t columns) {
  if (width_of(line) <= columns || is_excerpt(line))
    return std::string(line);
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const bool is_command =
      line.substr(begin).starts_with("lemma ") || line.substr(begin).starts_with("--arg ");
  const std::string indent(indent_of(line, columns), ' ');
  std::string out, now(line.substr(0, begin));
  bool has_words = false;
  for (size_t at = begin; at < line.size();) {
    const size_t word_end = std::min(line.find(' ', at), line.size());
    const size_t next = std::min(line.find_first_not_of(' ', word_end), line.size());
    const std::string_view word = line.substr(at, word_end - at);
    if (has_words && width_of(now) + width_of(word) + (is_command ? 2 : 0) > columns) {
      now.erase(now.find_last_not_of(' ') + 1);
      out += now + (is_command ? " \\\n" : "\n");
      now = indent;
    }
    now += line.substr(at, next - at);
    has_words = true;
    at = next;
  }
  return out + now;
}

// Every line of the text by itself.
template <class Change>
std::string by_lines(std::string_view text, const Change& change) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out += change(text.substr(0, end));
    if (end < text.size())
      out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::string painted_line(std::string_view line) {
  if (!line.starts_with(' '))
    return headline(line);
  if (is_excerpt(line)) {
    const size_t bar = line.find('|');
    const std::string_view rest = line.substr(bar + 1);
    const bool is_marks = line.find_first_not_of(" |\t^~") == line.npos;
    return painted(line.substr(0, bar + 1), kDim) + (is_marks ? painted(rest, kGreen) : std::string(rest));
  }
  if (note_text(line) == line.npos)
    return std::string(line);
  const size_t colon = line.find(':');
  return painted(line.substr(0, colon + 1), kCyan) + std::string(line.substr(colon + 1));
}

} // namespace

bool takes_color(std::FILE* file) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  return isatty(fileno(file)) == 1 && (!no_color || *no_color == 0) &&
         (!term || std::string_view(term) != "dumb");
}

size_t columns_of(std::FILE* file) {
  winsize size = {};
  return isatty(fileno(file)) == 1 && ioctl(fileno(file), TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

std::string broken(std::string_view text, size_t columns) {
  if (columns == 0)
    return std::string(text);
  return by_lines(text,
                  [&](std::string_view line) { return broken_line(line, std::max<size_t>(columns, 20)); });
}

std::string in_color(std::string_view rendered) {
  return by_lines(rendered, painted_line);
}

namespace {

// What standard error does not take nobody can be told, and it changes no status; elsewhere fmt throws.
void print(std::FILE* file, std::string_view text) {
  if (file == stderr)
    std::fwrite(text.data(), 1, text.size(), file);
  else
    fmt::print(file, "{}", text);
}

} // namespace

void print_text(std::FILE* file, std::string_view text) {
  print(file, broken(text, columns_of(file)));
}

void print_messages(std::FILE* file, std::string_view rendered) {
  const std::string text = broken(rendered, columns_of(file));
  print(file, takes_color(file) ? in_color(text) : text);
}

} // namespace lemma::cli
