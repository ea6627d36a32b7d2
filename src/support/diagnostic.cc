// Rendering, and the words for "did you mean" (edit distance with swaps). Whatever is shown has been
// shortened and escaped here, last of all, so that those who make messages need not.
#include "support/diagnostic.h"

#include "lemma/nearest.h"
#include "support/edit_distance.h"
#include "support/printable.h"

#include <fmt/format.h>

#include <algorithm>

namespace lemma {
namespace {

constexpr size_t kLongestCompared = 1000; // comparing takes as long as the lengths multiplied

// The source line and the caret line under it; of what is no text nothing.
std::string render_excerpt(const SourceText& source, SourceRange range) {
  const LineColumn at = source.line_column(std::min<uint32_t>(range.begin, source.text().size()));
  if (source.line(at.line).find('\0') != std::string_view::npos)
    return "";
  const Excerpt shown =
      excerpt(source.line(at.line), at.column - 1, range.end > range.begin ? range.end - range.begin : 1);
  const std::string number = fmt::format("{}", at.line);
  return fmt::format(" {} | {}\n {} | {}\n", number, shown.line, std::string(number.size(), ' '),
                     shown.marks);
}

} // namespace

std::string_view to_string(Severity severity) {
  switch (severity) {
  case Severity::error:
    return "error";
  case Severity::warning:
    return "warning";
  case Severity::unsupported:
    return "unsupported";
  case Severity::internal:
    return "internal";
  }
  return "internal";
}

bool has_errors(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity != Severity::warning; });
}

bool may_be_legal(const Diagnostics& diagnostics) {
  return std::all_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& d) {
    return d.severity == Severity::warning || d.severity == Severity::unsupported;
  });
}

std::string shortened(std::string text, size_t most) {
  constexpr std::string_view kGap = " ... ";
  if (text.size() <= most)
    return text;
  const auto is_inside = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
  }; // UTF-8
  size_t begin_bytes = (most - std::min(most, kGap.size())) * 2 / 3;
  size_t end = text.size() - (most - std::min(most, kGap.size()) - begin_bytes);
  while (begin_bytes > 0 && is_inside(begin_bytes))
    --begin_bytes;
  while (end < text.size() && is_inside(end))
    ++end;
  text.replace(begin_bytes, end - begin_bytes, kGap.substr(0, most));
  return text;
}

std::vector<Diagnostic::Note> notes_of(const Diagnostic& diagnostic) {
  std::vector<Diagnostic::Note> notes = diagnostic.notes;
  if (diagnostic.repairs.empty())
    return notes;
  const Replacement& first = diagnostic.repairs.front();
  const size_t more = diagnostic.repairs.size() - 1;
  notes.push_back(
      {"fix",
       fmt::format(
           "{} {}{}", first.range.begin == first.range.end ? "insert" : "write", first.text,
           more == 0 ? "" : fmt::format(", and mend {} more place{} likewise", more, more == 1 ? "" : "s"))});
  return notes;
}

std::string apply_repairs(std::string_view text, const Diagnostics& diagnostics, size_t& made) {
  std::vector<const Replacement*> repairs;
  for (const Diagnostic& diagnostic : diagnostics)
    for (const Replacement& repair : diagnostic.repairs)
      repairs.push_back(&repair);
  std::stable_sort(repairs.begin(), repairs.end(), [](const Replacement* a, const Replacement* b) {
    return a->range.begin < b->range.begin;
  });
  std::string out;
  SourceRange last; // the one made last
  made = 0;
  for (const Replacement* repair : repairs) {
    const SourceRange range = repair->range;
    if (range.end > text.size() || (made > 0 && (range.begin < last.end || range.begin == last.begin)))
      continue;
    out += text.substr(last.end, range.begin - last.end);
    out += repair->text;
    last = range;
    ++made;
  }
  out += text.substr(last.end);
  return out;
}

std::string render(const Diagnostic& diagnostic, const SourceText& source) {
  const LineColumn at = source.line_column(std::min<uint32_t>(diagnostic.range.begin, source.text().size()));
  std::string out = fmt::format("{}:{}:{}: {}[{}]: {}\n", printable(source.name()), at.line, at.column,
                                to_string(diagnostic.severity), diagnostic.id,
                                shortened(printable(diagnostic.message), kLongestMessage));
  out += render_excerpt(source, diagnostic.range);
  size_t width = 0;
  const std::vector<Diagnostic::Note> notes = notes_of(diagnostic);
  for (const auto& note : notes)
    width = std::max(width, note.label.size() + 1);
  for (const auto& note : notes)
    out += fmt::format("  {:<{}} {}\n", note.label + ":", width,
                       shortened(printable(note.text), kLongestMessage));
  return out;
}

std::string render(const Diagnostics& diagnostics, const SourceText& source) {
  std::string out;
  for (const auto& diagnostic : diagnostics)
    out += render(diagnostic, source);
  return out;
}

std::vector<std::string> nearest(std::string_view word, const std::vector<std::string_view>& candidates,
                                 size_t at_most) {
  std::vector<std::pair<size_t, std::string_view>> ranked;
  if (word.size() > kLongestCompared)
    return {};
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  const auto is_near_in_length = [&](std::string_view candidate) {
    return candidate.size() <= word.size() + limit && word.size() <= candidate.size() + limit;
  };
  for (const std::string_view candidate : candidates) {
    if (!is_near_in_length(candidate))
      continue;
    if (const size_t distance = edit_distance(word, candidate); distance <= limit)
      ranked.emplace_back(distance, candidate);
  }
  std::sort(ranked.begin(), ranked.end());
  std::vector<std::string> out;
  for (size_t i = 0; i < std::min(at_most, ranked.size()); ++i)
    out.emplace_back(ranked[i].second);
  return out;
}

// Of several that are as near, the one that begins like the word: sm_91 is sm_90 rather than sm_11.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates) {
  const std::vector<std::string> near = nearest(word, candidates, candidates.size());
  if (near.empty())
    return {};
  const auto in_common = [&](const std::string& other) {
    return std::mismatch(word.begin(), word.end(), other.begin(), other.end()).first - word.begin();
  };
  const size_t least = edit_distance(word, near.front());
  const std::string* best = &near.front();
  for (const std::string& other : near)
    if (edit_distance(word, other) == least && in_common(other) > in_common(*best))
      best = &other;
  return fmt::format(" (did you mean {}?)", *best);
}

} // namespace lemma
