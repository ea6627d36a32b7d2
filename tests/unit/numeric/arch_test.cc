// The machines told apart by hand: for each case the operands, what every machine makes of them, and why. A
// product is written by its depth in the instruction; all others are zero.
//
// The numbers are those of dot_model.cc; here they are said once more, as results. The rules themselves are
// checked in dot_test.cc.
#include "numeric/convert.h"
#include "numeric/dot.h"

#include "host_float.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string>

namespace lemma::numeric {
namespace {

using enum FloatFormat;

// What each of kArchs gives; none where it has no such instruction.
using Results = std::array<std::optional<double>, std::size(kArchs)>;
constexpr auto none = std::nullopt;

struct Product {
  int k = 0;
  double a = 0;
  double b = 0;
};

struct Case {
  const char* why = "";
  DotUnit unit = DotUnit::mma;
  FloatFormat ab = f16;
  int k = 16;
  std::vector<Product> products{};
  double c = 0;
  Results results{};
  FloatFormat d = f32;
  FloatFormat scale = ue8m0; // block scaled where scale_block is not 0; every scale is 1
  int scale_block = 0;
};

std::vector<uint8_t> pack(FloatFormat format, const std::vector<double>& values) {
  const auto bytes_each = static_cast<size_t>(std::max(traits(format).storage_bits / 8, 1));
  std::vector<uint8_t> bytes(values.size() * bytes_each);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint64_t bits = convert_float(format, f64, bits_of(values[i]));
    EXPECT_EQ(as_double(convert_float(f64, format, bits)), values[i]) << "not a number of the format";
    std::memcpy(bytes.data() + i * bytes_each, &bits, bytes_each);
  }
  return bytes;
}

// The one output of a 1 x 1 x k product.
std::optional<double> result_on(Arch arch, const Case& test) {
  const auto model =
      test.scale_block != 0
          ? dot_model_block_scale(arch, test.unit, test.ab, test.ab, test.scale, test.k, test.scale_block)
          : dot_model(arch, test.unit, test.ab, test.ab, test.d, test.d, test.k);
  if (!model)
    return none;
  std::vector<double> a(static_cast<size_t>(test.k)), b(a.size());
  for (const Product& product : test.products) {
    a[static_cast<size_t>(product.k)] = product.a;
    b[static_cast<size_t>(product.k)] = product.b;
  }
  const auto a_bytes = pack(test.ab, a), b_bytes = pack(test.ab, b), c_bytes = pack(test.d, {test.c});
  const std::vector<uint8_t> ones(static_cast<size_t>(test.k), test.scale == ue8m0 ? 127 : 0x38);
  uint64_t d = 0;
  DotScratch scratch;
  dot(DotPlan(*model, {1, 1, test.k}),
      {.a = a_bytes.data(),
       .b = b_bytes.data(),
       .c = c_bytes.data(),
       .d = &d,
       .scale_a = test.scale_block != 0 ? ones.data() : nullptr,
       .scale_b = test.scale_block != 0 ? ones.data() : nullptr},
      scratch);
  return as_double(convert_float(f64, test.d, d));
}

const std::vector<Case>& cases() {
  static const double r = 0x1p-12; // its square is 2^-24
  static const std::vector<Case> all = {
      {.why = "bit 24 below the largest term: beyond sm_70's 23 bits, kept by all others",
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-24,
       .results = {0, 0x1p-24, 0x1p-24, 0x1p-24, 0x1p-24, 0x1p-24, 0x1p-24, 0x1p-24}},
      {.why = "bit 23 is kept by all",
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-23,
       .results = {0x1p-23, 0x1p-23, 0x1p-23, 0x1p-23, 0x1p-23, 0x1p-23, 0x1p-23, 0x1p-23}},
      {.why = "bit 25: kept from sm_90 on",
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-25,
       .results = {0, 0, 0, 0, 0, 0x1p-25, 0x1p-25, 0x1p-25}},
      {.why = "bit 26: kept by none",
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-26,
       .results = {0, 0, 0, 0, 0, 0, 0, 0}},
      {.why = "every term is cut by itself: two of 2^-24 make a last place, but nothing on sm_70",
       .products = {{0, -1, 1}, {1, -r, r}},
       .c = -0x1p-24,
       .results = {-1, -1 - 0x1p-23, -1 - 0x1p-23, -1 - 0x1p-23, -1 - 0x1p-23, -1 - 0x1p-23, -1 - 0x1p-23,
                   -1 - 0x1p-23}},
      {.why = "steps of 4 on sm_70: 2 + 2^-23 becomes 2 before k4 and k5 take it away; others add 8 at once",
       .products = {{0, 1, 1}, {1, 1, 1}, {2, 2 * r, r}, {4, -1, 1}, {5, -1, 1}},
       .results = {0, 0x1p-23, 0x1p-23, 0x1p-23, 0x1p-23, 0x1p-23, 0x1p-23, 0x1p-23}},
      {.why = "steps of 8 up to sm_89: 2 + 2^-23 becomes 2 before k8 and k9 take it away; one step from "
              "sm_90 on",
       .products = {{0, 1, 1}, {1, 1, 1}, {2, 2 * r, r}, {8, -1, 1}, {9, -1, 1}},
       .results = {0, 0, 0, 0, 0, 0x1p-23, 0x1p-23, 0x1p-23}},
      {.why = "to f16 nearest even: a tie, down",
       .products = {{0, 1, 1}},
       .c = 0x1p-11,
       .results = {1, 1, 1, 1, 1, 1, 1, 1},
       .d = f16},
      {.why = "to f16 nearest even: a tie, up; and no cut of the step's sum in between",
       .products = {{0, 1, 1}, {1, 0x1p-10, 1}},
       .c = 0x1p-11,
       .results = {1 + 0x1p-9, 1 + 0x1p-9, 1 + 0x1p-9, 1 + 0x1p-9, 1 + 0x1p-9, 1 + 0x1p-9, 1 + 0x1p-9,
                   1 + 0x1p-9},
       .d = f16},
      {.why = "m8n8k4 from sm_80 on is scalar code: the products' sum is 0, and C is added to that",
       .k = 4,
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-30,
       .results = {0, 0, 0x1p-30, 0x1p-30, 0x1p-30, 0x1p-30, 0x1p-30, 0x1p-30}},
      {.why = "m8n8k4 on sm_75 keeps bit 24, which sm_70 does not",
       .k = 4,
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-24,
       .results = {0, 0x1p-24, 0x1p-24, 0x1p-24, 0x1p-24, 0x1p-24, 0x1p-24, 0x1p-24}},
      {.why =
           "m8n8k4 as scalar code rounds each fma to nearest: 1 + 0.75 ulp is 1 + ulp; fused terms are cut",
       .k = 4,
       .products = {{0, 1, 1}, {1, 1.5 * r, r}},
       .results = {1, 1, 1 + 0x1p-23, 1 + 0x1p-23, 1 + 0x1p-23, 1 + 0x1p-23, 1 + 0x1p-23, 1 + 0x1p-23}},
      {.why = "bf16, from sm_80 on; bit 25",
       .ab = bf16,
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-25,
       .results = {none, none, 0, 0, 0, 0x1p-25, 0x1p-25, 0x1p-25}},
      {.why = "bf16 in steps of 8 up to sm_89",
       .ab = bf16,
       .products = {{0, 1, 1}, {1, 1, 1}, {2, 2 * r, r}, {8, -1, 1}, {9, -1, 1}},
       .results = {none, none, 0, 0, 0, 0x1p-23, 0x1p-23, 0x1p-23}},
      {.why = "tf32 in steps of 4 up to sm_89",
       .ab = tf32,
       .k = 8,
       .products = {{0, 1, 1}, {1, 1, 1}, {2, 2 * r, r}, {4, -1, 1}, {5, -1, 1}},
       .results = {none, none, 0, 0, 0, 0x1p-23, 0x1p-23, 0x1p-23}},
      {.why =
           "fp8: 13 bits on sm_89; widened to f16 on sm_90 and sm_100, where C comes last; fused on sm_120",
       .ab = e4m3,
       .k = 32,
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-14,
       .results = {none, none, none, none, 0, 0x1p-14, 0x1p-14, 0x1p-14}},
      {.why = "fp8: sm_120 aligns C with the products; sm_90 and sm_100 add it to their sum, which is 0",
       .ab = e4m3,
       .k = 32,
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-30,
       .results = {none, none, none, none, 0, 0x1p-30, 0x1p-30, 0}},
      {.why = "fp8 results in f32 keep 13 bits on sm_89, even of C alone",
       .ab = e4m3,
       .k = 32,
       .c = 1 + 0x1p-13 + 0x1p-14,
       .results = {none, none, none, none, 1 + 0x1p-13, 1 + 0x1p-13 + 0x1p-14, 1 + 0x1p-13 + 0x1p-14,
                   1 + 0x1p-13 + 0x1p-14}},
      {.why = "fp8 on sm_90 and sm_100: k0 and k1 are rounded before k2; one step on sm_120",
       .ab = e4m3,
       .k = 32,
       .products = {{0, 256, 256}, {1, 0x1p-9, 1}, {2, -256, 256}},
       .results = {none, none, none, none, 0, 0, 0, 0x1p-9}},
      {.why = "fp8 on sm_89 in steps of 16: 2 + 2^-13 becomes 2 before k16 and k17 take it away",
       .ab = e4m3,
       .k = 32,
       .products = {{0, 1, 1}, {1, 1, 1}, {2, 0x1p-7, 0x1p-6}, {16, -1, 1}, {17, -1, 1}},
       .results = {none, none, none, none, 0, 0x1p-13, 0x1p-13, 0x1p-13}},
      {.why = "e2m1 without scales: sm_120 alone, bit 25",
       .ab = e2m1,
       .k = 32,
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-25,
       .results = {none, none, none, none, none, none, none, 0x1p-25}},
      {.why = "mxf8f6f4 aligns to 25 bits",
       .ab = e4m3,
       .k = 32,
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-26,
       .results = {none, none, none, none, none, none, none, 0},
       .scale_block = 32},
      {.why = "mxf4nvf4: sums of 16 products, which are exact, aligned to 35 bits; bit 35",
       .ab = e2m1,
       .k = 64,
       .products = {{0, 1, 1}, {16, -1, 1}},
       .c = 0x1p-35,
       .results = {none, none, none, none, none, none, none, 0x1p-35},
       .scale = ue4m3,
       .scale_block = 16},
      {.why = "mxf4nvf4: bit 36",
       .ab = e2m1,
       .k = 64,
       .products = {{0, 1, 1}, {16, -1, 1}},
       .c = 0x1p-36,
       .results = {none, none, none, none, none, none, none, 0},
       .scale = ue4m3,
       .scale_block = 16},
      {.why = "wgmma is of sm_90 alone",
       .unit = DotUnit::wgmma,
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-25,
       .results = {none, none, none, none, none, 0x1p-25, none, none}},
      {.why = "wgmma of fp8 keeps 13 bits, unlike mma",
       .unit = DotUnit::wgmma,
       .ab = e4m3,
       .k = 32,
       .products = {{0, 1, 1}, {1, -1, 1}},
       .c = 0x1p-14,
       .results = {none, none, none, none, none, 0, none, none}},
      {.why = "f64 is a chain of fma from C on every machine that has it",
       .ab = f64,
       .k = 4,
       .products = {{0, 0x1p-53, 1}, {1, 0x1p-53, 1}},
       .c = 1,
       .results = {none, none, 1, 1, 1, 1, 1, 1},
       .d = f64},
  };
  return all;
}

TEST(Arch, EachMachineGivesItsOwnResult) {
  for (const Case& test : cases())
    for (size_t i = 0; i < std::size(kArchs); ++i) {
      const auto result = result_on(kArchs[i], test);
      EXPECT_EQ(result.has_value(), test.results[i].has_value()) << to_string(kArchs[i]) << ": " << test.why;
      if (result && test.results[i]) {
        EXPECT_EQ(bits_of(*result), bits_of(*test.results[i]))
            << to_string(kArchs[i]) << ": " << test.why << "\n  got " << *result << ", not "
            << *test.results[i];
      }
    }
}

// Two machines that no case tells apart would be one; sm_80 and sm_86 are.
TEST(Arch, TheCasesTellEveryPairApart) {
  for (size_t i = 0; i < std::size(kArchs); ++i)
    for (size_t j = i + 1; j < std::size(kArchs); ++j) {
      const bool alike = kArchs[i] == Arch::sm_80 && kArchs[j] == Arch::sm_86;
      const bool told_apart = std::any_of(cases().begin(), cases().end(), [&](const Case& test) {
        return test.results[i] != test.results[j];
      });
      EXPECT_NE(told_apart, alike) << to_string(kArchs[i]) << " and " << to_string(kArchs[j]);
    }
}

// The table: every rule is reached by its first and last machine, and no two rules are of one instruction.
TEST(Arch, TheTableHasOneRuleAnInstruction) {
  for (const DotRule& rule : dot_rules()) {
    EXPECT_LE(rule.first, rule.last);
    EXPECT_EQ(rule.fraction_bits != 0,
              rule.scheme != DotScheme::fma_chain && rule.scheme != DotScheme::scalar_k4);
    for (const DotRule& other : dot_rules())
      EXPECT_TRUE(&rule == &other || rule.unit != other.unit || rule.operands != other.operands ||
                  rule.only_k != other.only_k || rule.last < other.first || other.last < rule.first)
          << to_string(rule.operands) << " of " << to_string(rule.first) << " and of "
          << to_string(other.first);
  }
  EXPECT_GT(dot_rules().size(), 25u);
}

// What no machine of ours has shown is not called measured.
TEST(Arch, OnlyHopperIsMeasured) {
  for (const DotRule& rule : dot_rules())
    EXPECT_EQ(rule.evidence == Evidence::measured, rule.first == Arch::sm_90 && rule.last == Arch::sm_90)
        << to_string(rule.operands) << " of " << to_string(rule.first);
}

std::string machines(const DotRule& rule) {
  std::string text(to_string(rule.first));
  return rule.first == rule.last ? text : text + " - " + std::string(to_string(rule.last));
}

std::string scheme(const DotRule& rule) {
  switch (rule.scheme) {
  case DotScheme::fused:
    return rule.max_fused_k == 0 ? "fused"
                                 : "fused, " + std::to_string(rule.max_fused_k) + " products a step";
  case DotScheme::split_quad:
    return "as f16: k mod 4 in {0, 1}, then {2, 3}; then + C";
  case DotScheme::block_sums:
    return "fused over exact sums of 16 products";
  case DotScheme::fma_chain:
    return "one fma after another";
  case DotScheme::scalar_k4:
    return "scalar f32 code";
  default:
    return "";
  }
}

// The table of docs/virtual-gpu.md, from the rules.
std::string table() {
  constexpr std::string_view units[] = {"mma, wmma", "wgmma", "tcgen05"};
  std::string text = "| machine | instruction | operands | sums | F | known |\n|---|---|---|---|---|---|\n";
  for (const DotRule& rule : dot_rules()) {
    if (rule.unit == DotUnit::tcgen05)
      continue; // not executed
    text += "| " + machines(rule) + " | " + std::string(units[static_cast<size_t>(rule.unit)]) + " | " +
            std::string(to_string(rule.operands)) + (rule.only_k != 0 ? " m8n8k4" : "") + " | " +
            scheme(rule) +
            (rule.kept_fraction_bits != 23
                 ? "; f32 results keep " + std::to_string(rule.kept_fraction_bits) + " bits"
                 : "") +
            " | " + (rule.fraction_bits != 0 ? std::to_string(rule.fraction_bits) : "") + " | " +
            std::string(to_string(rule.evidence)) + " |\n";
  }
  return text;
}

TEST(Arch, TheDocsHaveTheTable) {
  std::ifstream file(LEMMA_DOCS "/virtual-gpu.md");
  const std::string docs{std::istreambuf_iterator<char>(file), {}};
  EXPECT_NE(docs.find("\n" + table() + "\n"), std::string::npos)
      << "docs/virtual-gpu.md should have this table:\n"
      << table();
}

// What stays an assumption, and what the assembler's code settles.
TEST(Arch, SaysHowWellAModelIsKnown) {
  const auto evidence = [](Arch arch, FloatFormat c, FloatFormat d, int k) {
    return dot_model(arch, DotUnit::mma, f16, f16, c, d, k)->evidence;
  };
  EXPECT_EQ(evidence(Arch::sm_70, f32, f32, 4), Evidence::published);
  EXPECT_EQ(evidence(Arch::sm_70, f32, f32, 16), Evidence::assumed);
  EXPECT_EQ(evidence(Arch::sm_70, f16, f32, 4), Evidence::assumed);
  EXPECT_EQ(evidence(Arch::sm_75, f16, f32, 4), Evidence::assumed);
  EXPECT_EQ(evidence(Arch::sm_75, f16, f32, 16), Evidence::published);
  EXPECT_EQ(evidence(Arch::sm_90, f16, f32, 16), Evidence::measured);
  EXPECT_EQ(evidence(Arch::sm_120, f16, f32, 4), Evidence::published);
  EXPECT_EQ(dot_model(Arch::sm_100, DotUnit::mma, e4m3, e4m3, f32, f32, 32)->evidence, Evidence::published);
}

} // namespace
} // namespace lemma::numeric
