// Words of MLIR text. Tests: tests/mlir/matmul/.
#include "nvgpu/matmul/text.h"

#include <cassert>
#include <cctype>

namespace lemma::nvgpu {

void TemplateText::add(std::string_view text, const Words& more) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      text_ += text[at++];
      continue;
    }
    size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
      ++end;
    const std::string name(text.substr(at + 1, end - at - 1));
    const auto own = more.find(name);
    const auto common = words_.find(name);
    assert((own != more.end() || common != words_.end()) && "the text has a word that nothing stands for");
    text_ += own != more.end() ? own->second : common->second;
    at = end;
  }
}

} // namespace lemma::nvgpu
