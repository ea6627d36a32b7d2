// Random elements: the same for a seed, distributed as they should be.
#include "lemma/timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lemma {
namespace {

template <class T>
std::vector<T> random_elements(size_t count, const char* element, uint64_t seed) {
  std::vector<T> values(count);
  const auto filled = fill_random(std::as_writable_bytes(std::span(values)), element, seed);
  EXPECT_TRUE(filled) << filled.error().text;
  return values;
}

TEST(Random, NormalNumbers) {
  const std::vector<float> values = random_elements<float>(1'000'003, "f32", 7);
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  const double n = static_cast<double>(values.size());
  EXPECT_LT(std::abs(sum / n), 0.02);
  EXPECT_NEAR(squares / n, 1, 0.02);
  const auto within =
      std::count_if(values.begin(), values.end(), [](float value) { return std::abs(value) < 1; });
  EXPECT_NEAR(static_cast<double>(within) / n, 0.6827, 0.01);
}

TEST(Random, TheSeedSaysWhich) {
  const auto values =
      random_elements<uint16_t>(5'000'000, "bf16", 1); // more than one piece, perhaps several threads
  EXPECT_EQ(values, random_elements<uint16_t>(5'000'000, "bf16", 1));
  EXPECT_NE(values, random_elements<uint16_t>(5'000'000, "bf16", 2));
  EXPECT_FALSE(std::equal(values.begin(), values.begin() + 1000, values.begin() + (1 << 19)));
}

TEST(Random, NarrowFloatsAreNumbers) {
  for (const uint8_t bits : random_elements<uint8_t>(100'000, "e4m3", 3))
    EXPECT_NE(bits & 0x7f, 0x7f); // NaN
  for (const uint8_t bits : random_elements<uint8_t>(100'000, "f8E5M2", 3))
    EXPECT_LT(bits & 0x7f, 0x7c); // infinity, NaN
}

TEST(Random, IntegersAreAny) {
  std::array<int, 256> seen{};
  for (const uint8_t value : random_elements<uint8_t>(256'000, "s8", 5))
    ++seen[value];
  for (const int count : seen)
    EXPECT_NEAR(count, 1000, 400); // each is drawn from 65536 that are
}

TEST(Random, DifferencesAreRelative) {
  const std::vector<float> one{3, -4, 0}, other{3, -4, 0.5};
  const auto bytes = [](const std::vector<float>& values) { return std::as_bytes(std::span(values)); };
  EXPECT_EQ(*relative_difference(bytes(one), bytes(one), "f32"), 0);
  EXPECT_NEAR(*relative_difference(bytes(other), bytes(one), "f32"), 0.1, 1e-12);
  EXPECT_EQ(*relative_difference(bytes(other), bytes(one), "s32"), 1);
  EXPECT_EQ(*relative_difference(bytes(one), bytes(one), "s32"), 0);
  EXPECT_FALSE(relative_difference(bytes(one), bytes(one).first(4), "f32"));
}

TEST(Random, ATypeThatIsNone) {
  std::byte memory[4];
  const auto filled = fill_random(memory, "tensor", 0);
  ASSERT_FALSE(filled);
  EXPECT_EQ(filled.error().kind, ErrorKind::invalid_argument);
}

} // namespace
} // namespace lemma
