// Which divisors the assembler knows.
#include "lowered/divisors.h"

#include "text.h"

#include <gtest/gtest.h>

namespace lemma::lowered {
namespace {

bool is_known(const std::string& before, const std::string& divisor) {
  const std::string body = before + "div.approx.f32 %f0, %f1, " + divisor + ";\n ret;";
  return lowered(body, {}, "divisors").find("!constant-divisor") != std::string::npos;
}

TEST(ConstantDivisors, stand_there_or_in_a_register_that_a_mov_writes_once) {
  EXPECT_TRUE(is_known("", "0f40400000"));
  EXPECT_TRUE(is_known("mov.f32 %f2, 0f40400000;", "%f2"));
  EXPECT_TRUE(is_known("mov.b32 %r2, 7; mov.b32 %r3, %r2; mov.b32 %f2, %r3;", "%f2"));
}

TEST(ConstantDivisors, are_none_of_two_writers_or_under_a_guard) {
  EXPECT_FALSE(is_known("", "%f2"));
  EXPECT_FALSE(is_known("mov.f32 %f2, 0f40400000; mov.f32 %f2, 0f40000000;", "%f2"));
  EXPECT_FALSE(is_known("@%p0 mov.f32 %f2, 0f40400000;", "%f2"));
  EXPECT_FALSE(
      is_known("mov.f32 %f3, 0f40400000; L: mov.f32 %f2, %f3; mov.f32 %f3, 0f40000000; @%p0 bra L;", "%f2"));
}

TEST(ConstantDivisors, are_not_computed) {
  EXPECT_FALSE(is_known("add.f32 %f2, 0f40400000, 0f3F800000;", "%f2"));
  EXPECT_FALSE(is_known("mov.u32 %r2, %tid.x; mov.b32 %f2, %r2;", "%f2"));
}

TEST(ConstantDivisors, are_of_divisions) {
  EXPECT_EQ(lowered("mul.f32 %f0, %f1, 0f40400000; ret;", {}, "divisors"),
            lowered("mul.f32 %f0, %f1, 0f40400000; ret;"));
}

} // namespace
} // namespace lemma::lowered
