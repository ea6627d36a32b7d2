// Result: values, errors, and the void form. include/lemma/result.h.
#include "lemma/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace lemma {
namespace {

Result<int, std::string> half(int n) {
  if (n % 2)
    return fail(std::string("odd"));
  return n / 2;
}

Result<void, std::string> check(bool good) {
  if (!good)
    return fail(std::string("bad"));
  return {};
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(half(4));
  EXPECT_EQ(*half(4), 2);
  EXPECT_FALSE(half(3));
  EXPECT_EQ(half(3).error(), "odd");
}

TEST(Result, MovesWhatItHolds) {
  Result<std::unique_ptr<int>, std::string> boxed(std::make_unique<int>(7));
  const std::unique_ptr<int> taken = *std::move(boxed);
  EXPECT_EQ(*taken, 7);
}

TEST(Result, VoidIsSuccessOrAnError) {
  EXPECT_TRUE(check(true).ok());
  EXPECT_FALSE(check(false).ok());
  EXPECT_EQ(check(false).error(), "bad");
}

} // namespace
} // namespace lemma
