// Findings in headers of libraries, by the frames of their accesses. See include/lemma/suppressions.h.
//
//   access          the innermost frame   thread_load.cuh:287   in a header of a library
//   inlined into    ...                   block_load.cuh:479    likewise
//                   a place of the entry  agent_x.cuh:819       likewise; the function has the version's mark
//                   the caller            main.cu:12            anybody's
//
// All places of an entry stand in the chain; up to the outermost of them all is the library's, so that an
// access of the user's own functor or iterator fits none. Which access comes first is the entry's to say:
// what is harmless where a read comes before a write is not the other way round.
#include "lemma/suppressions.h"

#include "runtime/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace lemma {
namespace {

constexpr LibrarySuppression kEntries[] = {
#define LIBRARY_FINDING(library, mark, id, access, earlier, why) {library, mark, id, access, earlier, why},
#include "runtime/library_suppressions.def"
#undef LIBRARY_FINDING
};

// Cuts off what stands before `separator`, or all.
std::string_view next(std::string_view& text, char separator) {
  const std::string_view first = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), first.size() + 1));
  return first;
}

uint32_t number(std::string_view digits) {
  uint32_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return value;
}

// "a/b.h:3,7-9"
bool fits(std::string_view place, const SourceFrame& frame) {
  const std::string_view file = next(place, ':');
  if (!frame.file.ends_with(file) || !frame.file.substr(0, frame.file.size() - file.size()).ends_with('/'))
    return false;
  while (!place.empty()) {
    std::string_view lines = next(place, ',');
    const uint32_t first = number(next(lines, '-'));
    if (first <= frame.line && frame.line <= (lines.empty() ? first : number(lines)))
      return true;
  }
  return false;
}

bool fits(std::string_view places, std::string_view mark, const Place& access) {
  const std::vector<SourceFrame> frames = frames_of(access);
  size_t outermost = 0;
  while (!places.empty()) {
    const std::string_view place = next(places, ' ');
    const auto at =
        std::ranges::find_if(frames, [&](const SourceFrame& frame) { return fits(place, frame); });
    if (at == frames.end())
      return false;
    outermost = std::max(outermost, static_cast<size_t>(at - frames.begin()));
  }
  return frames[outermost].function.find(mark) != std::string::npos &&
         std::all_of(frames.begin(), frames.begin() + static_cast<ptrdiff_t>(outermost) + 1,
                     [](const SourceFrame& frame) { return runtime::is_library(frame.file); });
}

bool fits(const LibrarySuppression& entry, const Finding& finding) {
  return entry.id == finding.id && entry.earlier.empty() != finding.earlier.has_value() &&
         fits(entry.access, entry.mark, finding.access.place) &&
         (!finding.earlier || fits(entry.earlier, entry.mark, finding.earlier->place));
}

std::string reason(const LibrarySuppression& entry) {
  return fmt::format("{}: {}", entry.library, entry.why);
}

} // namespace

std::span<const LibrarySuppression> library_suppressions() {
  return kEntries;
}

const LibrarySuppression* library_suppression_of(const Finding& finding) {
  const auto entry =
      std::ranges::find_if(kEntries, [&](const LibrarySuppression& each) { return fits(each, finding); });
  return entry == std::end(kEntries) ? nullptr : &*entry;
}

void suppress_in_libraries(std::span<Finding> findings) {
  for (Finding& finding : findings) {
    const LibrarySuppression* entry = finding.suppressed ? nullptr : library_suppression_of(finding);
    if (!entry)
      continue;
    finding.suppressed = true;
    finding.suppressed_because = reason(*entry);
  }
}

bool is_suppressed_in_library(const Finding& finding) {
  return finding.suppressed && std::ranges::any_of(kEntries, [&](const LibrarySuppression& entry) {
           return finding.suppressed_because == reason(entry);
         });
}

} // namespace lemma
