// Words that are like one that nobody knows.
//
// Tests: tests/cli/, tests/unit/support/diagnostic_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// " (did you mean sm_90?)": the candidate nearest to the word by edit distance; empty if none is near.
std::string did_you_mean(std::string_view word, const std::vector<std::string_view>& candidates);

} // namespace lemma
