// From a place's line the text is searched backwards for the .loc in force: reports have few places. See
// inlined_comments.h.
#include "runtime/inlined_comments.h"

#include "runtime/places.h"

#include <charconv>
#include <optional>
#include <string_view>

namespace lemma::runtime {
namespace {

constexpr size_t kMostCalls = 1000; // as .loc itself may have

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  return begin == text.npos ? "" : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

// Takes ":20" off the end.
std::optional<uint32_t> take_number(std::string_view& text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos)
    return std::nullopt;
  uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data() + colon + 1, end, number);
  if (error != std::errc() || stop != end)
    return std::nullopt;
  text.remove_suffix(text.size() - colon);
  return number;
}

// "rows.py:20:19", "rows.py:20"
std::optional<SourceFrame> parse_frame(std::string_view text) {
  const std::optional<uint32_t> last = take_number(text);
  const std::optional<uint32_t> line = last ? take_number(text) : last;
  if (!last || text.empty())
    return std::nullopt;
  return SourceFrame{.file = std::string(text), .line = line.value_or(*last), .function = {}};
}

// The comment behind the last .loc before the end of the text; empty: there is none.
std::string_view comment_of_last_loc(std::string_view text) {
  size_t at = text.size();
  while (at > 0 && (at = text.rfind(".loc", at - 1)) != text.npos) {
    const size_t begin = text.rfind('\n', at) + 1; // npos + 1: the first line
    constexpr std::string_view kLoc = ".loc";
    const std::string_view behind = text.substr(at + kLoc.size(), 1);
    if (!trimmed(text.substr(begin, at - begin)).empty() || !trimmed(behind).empty())
      continue; // in a comment; .local
    const std::string_view line = text.substr(at, text.find('\n', at) - at);
    const size_t comment = line.find("//");
    return comment == line.npos ? "" : trimmed(line.substr(comment + 2));
  }
  return {};
}

bool is_file(std::string_view path, std::string_view name) {
  return path.ends_with(name) && (path.size() == name.size() || path[path.size() - name.size() - 1] == '/');
}

// As .file has it, if one has.
std::string whole_name(const ptx::Module& module, const std::string& name) {
  for (const auto& [number, file] : module.files)
    if (is_file(file.name, name))
      return file.name;
  return name;
}

} // namespace

void add_inlined_calls(Place& place, const ptx::Module& module) {
  if (place.file.empty() || !place.inlined_at.empty() || place.ptx_line == 0)
    return;
  const std::string_view line = module.source->line(place.ptx_line);
  const std::string_view text = module.source->text();
  std::string_view comment =
      comment_of_last_loc(text.substr(0, static_cast<size_t>(line.data() - text.data())));
  constexpr std::string_view kCalledAt = " @[ ";
  const auto next = [&] {
    const size_t end = comment.find(kCalledAt);
    std::string_view frame = comment.substr(0, end);
    comment = end == comment.npos ? "" : comment.substr(end + kCalledAt.size());
    while (comment.empty() && frame.ends_with(" ]"))
      frame.remove_suffix(2);
    return parse_frame(frame);
  };
  const std::optional<SourceFrame> own = next();
  if (!own || own->line != place.line || !is_file(place.file, own->file))
    return;
  while (!comment.empty() && place.inlined_at.size() < kMostCalls) {
    std::optional<SourceFrame> call = next();
    if (!call)
      break;
    call->file = whole_name(module, call->file);
    place.inlined_at.push_back(*std::move(call));
  }
  if (!place.inlined_at.empty())
    place.inlined_at.back().function = place.function;
}

void add_inlined_calls(Report& report, const ptx::Module& module) {
  for_each_place(report, [&](Place& place) { add_inlined_calls(place, module); });
}

} // namespace lemma::runtime
