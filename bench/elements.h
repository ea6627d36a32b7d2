// Random elements of matrices, the same in every run.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace lemma::bench {

enum class Element : uint8_t { f16, bf16, tf32, f64, s8 };

// 32-bit words that hold elements between -1 and 1, s8 any; of f64, pairs of words.
std::vector<uint32_t> random_words(Element element, size_t count);
// The same of f16 or bf16, between 1/2 and 1, of either sign, with seven bits behind the point: sums of their
// products are exact for many steps.
std::vector<uint32_t> words_of_few_bits(Element element, size_t count);

} // namespace lemma::bench
