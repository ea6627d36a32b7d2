// The beginnings of lines are found once; an offset's line is then a binary search.
#include "support/source.h"

#include <algorithm>

namespace lemma {

SourceText::SourceText(std::string name, std::string text) : name_(std::move(name)), text_(std::move(text)) {
  line_begins_.reserve(1 + static_cast<size_t>(std::count(text_.begin(), text_.end(), '\n')));
  line_begins_.push_back(0);
  for (size_t at = 0; (at = text_.find('\n', at)) != text_.npos;)
    line_begins_.push_back(static_cast<uint32_t>(++at));
}

std::string_view SourceText::slice(SourceRange range) const {
  const size_t begin = std::min<size_t>(range.begin, text_.size());
  const size_t end = std::clamp<size_t>(range.end, begin, text_.size());
  return std::string_view(text_).substr(begin, end - begin);
}

LineColumn SourceText::line_column(uint32_t offset) const {
  const auto after = std::upper_bound(line_begins_.begin(), line_begins_.end(), offset);
  const auto index = static_cast<uint32_t>(after - line_begins_.begin() - 1);
  return {index + 1, offset - line_begins_[index] + 1};
}

std::string_view SourceText::line(uint32_t line) const {
  if (line == 0 || line > line_begins_.size())
    return {};
  const uint32_t begin = line_begins_[line - 1];
  const size_t end = line < line_begins_.size() ? line_begins_[line] - 1 : text_.size();
  return std::string_view(text_).substr(begin, end - begin);
}

} // namespace lemma
