// MLIR text with words to be filled in: `$word` stands for a value.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace lemma::nvgpu {

using Words = std::map<std::string, std::string>;

// `text` with each $word replaced. A word is letters, digits and `_`; all must be in `words`.
std::string fill(std::string_view text, const Words& words);

} // namespace lemma::nvgpu
