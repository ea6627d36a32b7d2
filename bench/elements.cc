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

} // namespace lemma::bench
