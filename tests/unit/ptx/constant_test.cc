// Constant expressions. The expected bits are those that ptxas 13.0 puts into the initializer of a .u64 (or
// .f64) variable for the same text, and the errors those for which it refuses it.
#include "parse_text.h"

#include <gtest/gtest.h>

namespace lemma::ptx {
namespace {

struct Case {
  const char* text;
  uint64_t bits;
};

uint64_t initializer(const char* type, const char* text) {
  const auto module = parse_well(with_header(std::string(".global .") + type + " x = " + text + ";\n"));
  return module->variables.at(0).init.at(0).bits;
}

TEST(Constant, Integers) {
  const Case cases[] = {
      {"0x0102030405060708", 0x0102030405060708},
      {"017", 15},
      {"0b101U + 0x1fU + 017U", 51},
      {"-8/3", static_cast<uint64_t>(-2)},
      {"-8 % 3", 2}, // % is computed unsigned
      {"(-8 % -3)>>1", 0x7ffffffffffffffc},
      {"-8/3U", 0x5555555555555552},
      {"-1 > 0", 0},
      {"-1 > 0U", 1},
      {"-8 >> 1", static_cast<uint64_t>(-4)},
      {"~8 >> 1", 0x7ffffffffffffffb}, // ~ gives unsigned
      {"(-8 & -4) >> 1", static_cast<uint64_t>(-4)},
      {"(-8 | 0U) >> 1", 0x7ffffffffffffffc},
      {"(-8 ^ 1) >> 1", static_cast<uint64_t>(-4)},
      {"(-8U) >> 1", 0x7ffffffffffffffc},
      {"(-8 << 1U) >> 1", static_cast<uint64_t>(-8)}, // a shift has the type of its left operand
      {"1 << 64", 1},                                 // counts are taken modulo 64
      {"1 << -1", 0x8000000000000000},
      {"-1 >> 64", UINT64_MAX},
      {"18446744073709551615 >> 60", 15},
      {"9223372036854775808 / -1", 0}, // too large for .s64: unsigned
      {"-9223372036854775808 >> 1", 0x4000000000000000},
      {"(-9223372036854775807-1)/-1", 0x8000000000000000},
      {"(1 < 2) / -1", UINT64_MAX},
      {"(!0 - 2) >> 1", UINT64_MAX},
      {"((1 && 1) -2)>>1", UINT64_MAX},
      {"!5", 0},
      {"1 ? -1 : 2U", UINT64_MAX},
      {"(1 ? -8 : 2U) >> 1", static_cast<uint64_t>(-4)},
      {"(1 ? 2U : -3) / -1", 0},
      {"0 ? 1 : 0 ? 2 : 3", 3},
      {"1 ? 2 : 3 + 4", 2},
      {"(.s64)-8U >> 1", static_cast<uint64_t>(-4)},
      {"(.u64)-1", UINT64_MAX},
      {"((.u64)8 - 16) >> 1", 0x7ffffffffffffffc},
      {"1 || 2 && 0", 1},
      {"1 | 2 ^ 3 & 4 == 4", 3},
      {"2 + 3 << 1", 10},
      {"2 > 1 > 0", 1},
      {"- - 8", 8},
      {"-(-8)", 8},
      {"+8", 8},
      {"WARP_SZ*2", 64},
      {"1.5 > 1.0", 1},
      {"1.0 == 1.0", 1},
  };
  for (const Case& c : cases)
    EXPECT_EQ(initializer("u64", c.text), c.bits) << c.text;
}

TEST(Constant, Doubles) {
  const Case cases[] = {
      {"1.5", 0x3ff8000000000000},
      {".5", 0x3fe0000000000000},
      {"1.", 0x3ff0000000000000},
      {"0.1", 0x3fb999999999999a},
      {"1e5", 0x40f86a0000000000},
      {"-(1.0)", 0xbff0000000000000},
      {"0d3ff0000000000000*1.0", 0x3ff0000000000000},
      {"-0d3ff0000000000000", 0xbff0000000000000},
      {"0.1+0.2", 0x3fd3333333333334},
      {"0f3f800000", 0x3f800000}, // a 0f constant gives its 32 bits, whatever the variable's type
  };
  for (const Case& c : cases)
    EXPECT_EQ(initializer("f64", c.text), c.bits) << c.text;
}

TEST(Constant, TakesTheTypeOfTheVariable) {
  EXPECT_EQ(initializer("f32", "0.1"), 0x3dcccccdu);
  EXPECT_EQ(initializer("f32", "1e300"), 0x7f800000u);
  EXPECT_EQ(initializer("f32", "1.0000000596046448"), 0x3f800000u); // half-way: to even
  EXPECT_EQ(initializer("f32", "0d3ff0000000000000"), 0x3f800000u);
  EXPECT_EQ(initializer("f32", "0f7f800001"), 0x7f800001u);
  EXPECT_EQ(initializer("b32", "1.0"), 0x3f800000u);
  EXPECT_EQ(initializer("b64", "1.0"), 0x3ff0000000000000u);
  EXPECT_EQ(initializer("u8", "0x1ff"), 0xffu);
  EXPECT_EQ(initializer("s32", "-1"), 0xffffffffu);
}

TEST(Constant, Errors) {
  const auto message = [](const char* type, const char* text) {
    return messages(with_header(std::string(".global .") + type + " x = " + text + ";"));
  };
  EXPECT_EQ(message("u64", "7 / 0"), "4:18 constant: division by zero in a constant expression\n");
  EXPECT_EQ(message("u64", "0 && 1/0"), "4:23 constant: division by zero in a constant expression\n");
  EXPECT_EQ(message("u64", "1 + 2.0"),
            "4:18 constant: a constant expression mixes integers and floating-point numbers\n");
  EXPECT_EQ(message("u64", "~1.0"), "4:18 constant: this operator takes integers only\n");
  EXPECT_EQ(message("f64", "2.5 % 2.0"), "4:18 constant: this operator takes integers only\n");
  EXPECT_EQ(message("f64", "1.0 ? 2.0 : 3.0"), "4:18 constant: the operands of '?' are integers\n");
  EXPECT_EQ(message("f64", "-0f3f800000"),
            "4:18 constant: a constant 0fXXXXXXXX stands alone: it is no operand of an operator\n");
  EXPECT_EQ(message("u64", "0xfffffffffffffffff"), "4:18 constant: the constant is out of range\n");
  EXPECT_EQ(message("f64", "1e400"), "4:18 constant: the constant is out of range\n");
  EXPECT_EQ(message("u64", "1.5"), "4:18 initializer: a .u64 variable takes no floating-point constant\n");
  EXPECT_EQ(message("f32", "1"), "4:18 initializer: a .f32 variable takes no integer constant\n");
  EXPECT_EQ(message("f16", "1.0"), "4:18 initializer: a .f16 variable takes no floating-point constant\n");
  EXPECT_EQ(message("u64", "1 ? 2"), "4:23 syntax: ':' expected between the values of '?', not ';'\n");
  EXPECT_EQ(message("u64", "(1"), "4:20 syntax: ')' expected after the expression, not ';'\n");
  EXPECT_EQ(message("u64", "08"), "4:18 number: malformed number '08'\n");
}

TEST(Constant, DepthIsLimited) {
  const std::string deep = std::string(100000, '(') + "1" + std::string(100000, ')');
  EXPECT_NE(messages(with_header(".global .u64 x = " + deep + ";")).find("nests deeper than"),
            std::string::npos);
  const std::string minuses = std::string(100000, '-') + "1";
  EXPECT_NE(messages(with_header(".global .u64 x = " + minuses + ";")).find("nests deeper than"),
            std::string::npos);
  std::string chain; // right associative
  for (int i = 0; i < 100000; ++i)
    chain += "1 ? 2 : ";
  EXPECT_NE(messages(with_header(".global .u64 x = " + chain + "3;")).find("nests deeper than"),
            std::string::npos);
  std::string sum = "1"; // left associative: no depth
  for (int i = 0; i < 100000; ++i)
    sum += "+1";
  EXPECT_EQ(initializer("u64", sum.c_str()), 100001u);
}

} // namespace
} // namespace lemma::ptx
