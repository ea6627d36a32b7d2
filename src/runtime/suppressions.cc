// A line is cut at its `#`, then into words. What a word is follows from its form: the first is the id, one
// with a `:`, `.` or `/` a place, any other a function - names of PTX have none of these. Messages are
// diagnostics of the text.
#include "lemma/suppressions.h"

#include "lemma/findings.h"
#include "runtime/report_text.h"
#include "support/diagnostic.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>

namespace lemma {
namespace {

constexpr std::string_view kBlanks = " \t\r";

// `*` stands for any characters, `?` for one. Linear in the text for each `*`.
bool fits(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = pattern.npos, matched = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      matched = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != pattern.npos) {
      p = star + 1;
      t = ++matched;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == pattern.npos;
}

// "a.cu" fits "/src/a.cu": whole names from the end on.
bool fits_file(std::string_view pattern, std::string_view path) {
  while (pattern.starts_with("./"))
    pattern.remove_prefix(2);
  for (size_t begin = 0;;) {
    if (fits(pattern, path.substr(begin)))
      return true;
    begin = path.find('/', begin);
    if (begin == path.npos)
      return false;
    ++begin;
  }
}

bool fits_line(const Suppression& entry, uint32_t line) {
  return entry.first_line == 0 || (entry.first_line <= line && line <= entry.last_line);
}

std::optional<uint32_t> line_number(std::string_view digits) {
  uint32_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number == 0)
    return std::nullopt;
  return number;
}

bool fits_place(const Suppression& entry, const Place& place, std::string_view ptx) {
  if (entry.file.empty())
    return true;
  if (fits_file(entry.file, ptx) && fits_line(entry, place.ptx_line))
    return true;
  if (!place.file.empty() && fits_file(entry.file, place.file) && fits_line(entry, place.line))
    return true;
  return std::any_of(place.inlined_at.begin(), place.inlined_at.end(), [&](const SourceFrame& call) {
    return !call.file.empty() && fits_file(entry.file, call.file) && fits_line(entry, call.line);
  });
}

bool fits(const Suppression& entry, const Finding& finding) {
  if (!fits(entry.id, finding.id))
    return false;
  const auto access_fits = [&](const CheckedAccess& access) {
    return fits_place(entry, access.place, finding.ptx) &&
           (entry.function.empty() || fits(entry.function, finding.kernel) ||
            fits(entry.function, access.place.function));
  };
  return access_fits(finding.access) || (finding.earlier && access_fits(*finding.earlier));
}

// One line's entry, or what is wrong with it, and where.
class LineParser {
public:
  // `line` lies in `text`.
  LineParser(std::string_view text, std::string_view line) : text_(text), line_(line) {}

  // Nothing, and no diagnostic: there is no entry.
  std::optional<Suppression> parse() {
    const size_t hash = line_.find('#');
    std::string_view words = line_.substr(0, hash);
    const std::string_view first = next(words);
    if (first.empty())
      return std::nullopt;
    Suppression entry{.id = std::string(first)};
    if (!known(first))
      return wrong(first, fmt::format("no finding has the id '{}'", first));
    for (std::string_view word = next(words); !word.empty(); word = next(words))
      if (!(word.find_first_of(":./") != word.npos ? add_place(word, entry) : add_function(word, entry)))
        return std::nullopt;
    if (hash != line_.npos)
      entry.why = trimmed(line_.substr(hash + 1));
    if (entry.why.empty())
      return wrong(first, "a suppression without its reason");
    return entry;
  }
  std::optional<Diagnostic> diagnostic;

private:
  static std::string_view trimmed(std::string_view text) {
    const size_t begin = text.find_first_not_of(kBlanks);
    return begin == text.npos ? std::string_view()
                              : text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  }
  static std::string_view next(std::string_view& words) {
    words.remove_prefix(std::min(words.find_first_not_of(kBlanks), words.size()));
    const std::string_view word = words.substr(0, words.find_first_of(kBlanks));
    words.remove_prefix(word.size());
    return word;
  }

  std::nullopt_t wrong(std::string_view word, std::string message) {
    const auto begin = static_cast<uint32_t>(word.data() - text_.data());
    diagnostic = Diagnostic{.id = "suppression",
                            .message = std::move(message),
                            .range = {begin, begin + static_cast<uint32_t>(word.size())},
                            .notes = {{"form", "ID [FILE[:LINE[-LINE]]] [FUNCTION]  # why"}}};
    return std::nullopt;
  }

  bool known(std::string_view id) const {
    const auto kinds = finding_kinds();
    return std::any_of(kinds.begin(), kinds.end(),
                       [&](const FindingKind& kind) { return lemma::fits(id, kind.id); });
  }

  bool add_place(std::string_view word, Suppression& entry) {
    if (!entry.file.empty())
      return wrong(word, "a second place"), false;
    const size_t colon = word.rfind(':');
    entry.file = word.substr(0, colon);
    if (entry.file.empty())
      return wrong(word, "a line without its file"), false;
    if (colon == word.npos)
      return true;
    const std::string_view lines = word.substr(colon + 1);
    const size_t dash = lines.find('-');
    const std::optional<uint32_t> first = line_number(lines.substr(0, dash));
    const std::optional<uint32_t> last = dash == lines.npos ? first : line_number(lines.substr(dash + 1));
    if (!first || !last || *last < *first)
      return wrong(word, fmt::format("'{}' is neither a line nor a range of lines", lines)), false;
    entry.first_line = *first;
    entry.last_line = *last;
    return true;
  }

  bool add_function(std::string_view word, Suppression& entry) {
    if (!entry.function.empty())
      return wrong(word, "a second function"), false;
    entry.function = word;
    return true;
  }

  std::string_view text_, line_;
};

} // namespace

Result<Suppressions, Error> Suppressions::parse(std::string_view text, std::string name) {
  Suppressions made;
  made.name_ = name;
  made.text_ = text;
  const SourceText source(std::move(name), std::string(text));
  Error error{.kind = ErrorKind::rejected, .text = {}, .messages = {}};
  const uint32_t lines = source.line_column(static_cast<uint32_t>(source.text().size())).line;
  for (uint32_t line = 1; line <= lines; ++line) {
    LineParser parser(source.text(), source.line(line));
    if (std::optional<Suppression> entry = parser.parse()) {
      entry->line = line;
      made.entries_.push_back(*std::move(entry));
    } else if (parser.diagnostic) {
      error.messages.push_back(runtime::to_message(*parser.diagnostic, source));
    }
  }
  if (error.messages.empty())
    return made;
  error.text = error.messages.front().text;
  return fail(std::move(error));
}

void Suppressions::apply(std::span<Finding> findings) {
  for (Finding& finding : findings)
    for (Suppression& entry : entries_)
      if (fits(entry, finding)) {
        ++entry.used;
        finding.suppressed = true;
        finding.suppressed_because = entry.why;
        break;
      }
}

std::vector<Message> Suppressions::unused() const {
  const SourceText source(name_, text_);
  std::vector<Message> messages;
  for (const Suppression& entry : entries_) {
    if (entry.used > 0)
      continue;
    const std::string_view line = source.line(entry.line);
    const auto offset = static_cast<uint32_t>(line.data() - source.text().data());
    const auto begin = static_cast<uint32_t>(line.find_first_not_of(kBlanks));
    const auto end = static_cast<uint32_t>(line.find_last_not_of(kBlanks, line.find('#') - 1) + 1);
    messages.push_back(runtime::to_message({.severity = Severity::warning,
                                            .id = "unused-suppression",
                                            .message = "it has suppressed nothing",
                                            .range = {offset + begin, offset + end},
                                            .notes = {}},
                                           source));
  }
  return messages;
}

} // namespace lemma
