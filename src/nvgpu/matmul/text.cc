// Words of MLIR text. Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/text.h"

#include <cassert>
#include <cctype>

namespace lemma::nvgpu {

std::string fill(std::string_view text, const Words& words) {
  std::string filled;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      filled += text[at++];
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    const auto word = words.find(std::string(text.substr(at + 1, end - at - 1)));
    assert(word != words.end() && "the text has a word that nothing stands for");
    filled += word->second;
    at = end;
  }
  return filled;
}

} // namespace lemma::nvgpu
