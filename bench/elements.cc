// The random numbers of the benchmarks.
#include "elements.h"

#include "numeric/convert.h"

#include <bit>
#include <random>

namespace lemma::bench {

using numeric::FloatFormat;

std::vector<uint32_t> random_words(Element element, size_t count) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  const auto bits_of = [&](FloatFormat format) {
    return numeric::convert_float(format, FloatFormat::f32, std::bit_cast<uint32_t>(uniform(generator)));
  };
  std::vector<uint32_t> words(count);
  for (size_t i = 0; i < count; ++i)
    switch (element) {
    case Element::f16:
    case Element::bf16: {
      const auto format = element == Element::f16 ? FloatFormat::f16 : FloatFormat::bf16;
      words[i] = static_cast<uint32_t>(bits_of(format) | bits_of(format) << 16);
      break;
    }
    case Element::tf32:
      words[i] = static_cast<uint32_t>(bits_of(FloatFormat::tf32));
      break;
    case Element::f64:
      words[i] = static_cast<uint32_t>(i % 2 ? bits_of(FloatFormat::f64) >> 32 : generator());
      break;
    case Element::s8:
      words[i] = static_cast<uint32_t>(generator());
      break;
    }
  return words;
}

std::vector<uint32_t> words_of_few_bits(Element element, size_t count) {
  const bool is_f16 = element == Element::f16;
  const uint32_t drawn = is_f16 ? 0x83f883f8u : 0x807f807fu, exponents = is_f16 ? 0x38003800u : 0x3f003f00u;
  std::mt19937 generator(1);
  std::vector<uint32_t> words(count);
  for (uint32_t& word : words)
    word = (generator() & drawn) | exponents;
  return words;
}

} // namespace lemma::bench
