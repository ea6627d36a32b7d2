// Words of MLIR text. Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/text.h"

#include <cassert>
#include <cctype>

namespace lemma::nvgpu {
namespace {

// `find(word)`: a pointer to what it stands for.
std::string fill_by(std::string_view text, const auto& find) {
  std::string filled;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      filled += text[at++];
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    filled += find(std::string(text.substr(at + 1, end - at - 1)));
    at = end;
  }
  return filled;
}

} // namespace

std::string fill(std::string_view text, const Words& words) {
  return fill_by(text, [&](const std::string& name) -> const std::string& {
    const auto word = words.find(name);
    assert(word != words.end() && "the text has a word that nothing stands for");
    return word->second;
  });
}

void TemplateText::add(std::string_view text, const Words& more) {
  text_ += fill_by(text, [&](const std::string& name) -> const std::string& {
    const auto own = more.find(name);
    if (own != more.end())
      return own->second;
    const auto word = words_.find(name);
    assert(word != words_.end() && "the text has a word that nothing stands for");
    return word->second;
  });
}

} // namespace lemma::nvgpu
