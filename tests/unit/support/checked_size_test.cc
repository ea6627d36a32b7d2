// CheckedSize: every sum and product around the edges, against 128 bits.
#include "support/checked_size.h"

#include <gtest/gtest.h>

#include <initializer_list>

namespace lemma {
namespace {

__extension__ using Wide = unsigned __int128;

std::optional<uint64_t> fitting(Wide value) {
  return value <= UINT64_MAX ? std::optional(static_cast<uint64_t>(value)) : std::nullopt;
}

TEST(CheckedSize, IsRightOrDoesNotFit) {
  constexpr uint64_t kHalf = uint64_t{1} << 32, kTop = uint64_t{1} << 63;
  const std::initializer_list<uint64_t> edges = {
      0,         1, 2, 3, 511, 512, kHalf - 1, kHalf, kHalf + 1, kTop, kTop - 1, kTop + 1, UINT64_MAX - 1,
      UINT64_MAX};
  for (const uint64_t a : edges)
    for (const uint64_t b : edges) {
      EXPECT_EQ((CheckedSize(a) + b).value(), fitting(Wide{a} + b)) << a << " " << b;
      EXPECT_EQ((CheckedSize(a) * b).value(), fitting(Wide{a} * b)) << a << " " << b;
      EXPECT_EQ(CheckedSize(a) + b <= kTop, Wide{a} + b <= kTop);
      EXPECT_EQ(CheckedSize(a) * b > kTop, Wide{a} * b > kTop);
      if (b != 0) {
        EXPECT_EQ(align_up(CheckedSize(a), b).value(),
                  fitting(Wide{a} + (b - 1)) ? fitting((Wide{a} + (b - 1)) / b * b) : std::nullopt);
      }
    }
  // What came of something too large does not fit.
  const CheckedSize large = CheckedSize(UINT64_MAX) + 1;
  EXPECT_FALSE((large + 1).value() || (large * 0).value() || (0 * large).value() ||
               align_up(large, 2).value());
  EXPECT_TRUE(large > UINT64_MAX);
}

} // namespace
} // namespace lemma
