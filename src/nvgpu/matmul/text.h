// MLIR text with words to be filled in: `$word` stands for a value.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace lemma::nvgpu {

using Words = std::map<std::string, std::string>;

// Text that is made piece by piece, with each $word replaced. A word is letters, digits and `_`, and
// something must be put for each.
class TemplateText {
public:
  // What `$word` stands for in all pieces that follow.
  void put(const std::string& word, const auto& value) { words_[word] = fmt::format("{}", value); }
  // One more piece; `more`: words of it alone.
  void add(std::string_view text, const Words& more = {});
  std::string take() { return std::move(text_); }

private:
  Words words_;
  std::string text_;
};

} // namespace lemma::nvgpu
