// The parser has turned the section into bytes (DebugSection); a module may have several of that name.
#include "ptx/debug_strings.h"

#include <algorithm>
#include <charconv>

namespace lemma::ptx {

std::string_view debug_string(const Module& module, std::string_view place) {
  const size_t plus = std::min(place.find('+'), place.size());
  size_t offset = 0;
  if (plus < place.size())
    std::from_chars(place.data() + plus + 1, place.data() + place.size(), offset);
  for (const DebugSection& section : module.sections) {
    const auto label = section.labels.find(place.substr(0, plus));
    if (label == section.labels.end())
      continue;
    std::string_view text = std::string_view(section.bytes).substr(label->second);
    text.remove_prefix(std::min(offset, text.size()));
    return text.substr(0, text.find('\0'));
  }
  return {};
}

} // namespace lemma::ptx
