// The generators of operands: what a class promises is there. The recorded bits belong to exactly these
// operands, so some are pinned.
#include "golden/groups.h"
#include "golden/matrix_values.h"
#include "golden/values.h"
#include "numeric/arithmetic.h"
#include "numeric/convert.h"

#include <gtest/gtest.h>

#include <set>

namespace lemma::golden {
namespace {

using numeric::FloatFormat;
using numeric::OperandClass;
using numeric::Random;

constexpr size_t kCount = 4096;

TEST(Values, SpecialPairsAreAllThere) {
  const Values f32 = values_of(isa::Type::f32);
  const Values both[] = {f32, f32};
  Random random(1);
  const Operands operands = make_operands(both, OperandClass::special, Relation::none, random, kCount);
  std::set<std::pair<uint64_t, uint64_t>> pairs;
  for (size_t i = 0; i < kCount; ++i)
    pairs.emplace(operands[0][i], operands[1][i]);
  for (const uint64_t a : special_values(FloatFormat::f32))
    for (const uint64_t b : special_values(FloatFormat::f32))
      EXPECT_TRUE(pairs.contains({a, b})) << std::hex << a << " " << b;
}

TEST(Values, SpecialValuesHoldBothNansAndSubnormals) {
  size_t quiet = 0, signalling = 0, subnormal = 0;
  for (const uint64_t bits : special_values(FloatFormat::f32)) {
    if (numeric::is_nan(FloatFormat::f32, bits))
      ++((bits & 0x00400000) != 0 ? quiet : signalling);
    subnormal += (bits & 0x7f800000) == 0 && (bits & 0x7fffff) != 0;
  }
  EXPECT_GE(quiet, 4u);
  EXPECT_GE(signalling, 2u);
  EXPECT_GE(subnormal, 4u);
}

TEST(Values, CancellingSumsNearlyVanish) {
  const Values f32 = values_of(isa::Type::f32);
  const Values both[] = {f32, f32};
  Random random(2);
  const Operands operands = make_operands(both, OperandClass::cancelling, Relation::sum, random, kCount);
  size_t small = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const uint64_t sum = numeric::add(FloatFormat::f32, operands[0][i], operands[1][i]) & 0x7fffffff;
    small += sum < 0x35000000; // 2^-21
  }
  EXPECT_GT(small, kCount / 2);
}

TEST(Values, FusedProductsAreSubtractedAgain) {
  const Values f64 = values_of(isa::Type::f64);
  const Values all[] = {f64, f64, f64};
  Random random(3);
  const Operands o = make_operands(all, OperandClass::cancelling, Relation::fused, random, kCount);
  size_t small = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const uint64_t sum = numeric::fma(FloatFormat::f64, o[0][i], o[1][i], o[2][i]) & ~(uint64_t{1} << 63);
    small += sum < 0x3d00000000000000; // 2^-47
  }
  EXPECT_GT(small, kCount / 2);
}

// The result of rounding down and up differ by one unit at a tie, and rounding to nearest is neither always.
TEST(Values, TiesAreTies) {
  const Values f32 = values_of(isa::Type::f32);
  Random random(4);
  const auto ties = make_ties(f32, {.is_float = true, .floating = FloatFormat::f16}, random, kCount);
  size_t halfway = 0;
  for (const uint64_t bits : ties) {
    const uint64_t even = numeric::convert_float(FloatFormat::f16, FloatFormat::f32, bits);
    const uint64_t away = numeric::convert_float(FloatFormat::f16, FloatFormat::f32, bits,
                                                 {.rounding = numeric::Rounding::rna});
    halfway += even != away;
  }
  EXPECT_GT(halfway, kCount / 20); // half of them tie to odd, a third are ties
}

TEST(Values, PositionsReachPastTheRegister) {
  Values position;
  position.kind = Values::Kind::position;
  Random random(5);
  const Operands o =
      make_operands(std::span(&position, 1), OperandClass::ordinary, Relation::none, random, kCount);
  std::set<uint64_t> small;
  size_t large = 0;
  for (const uint64_t value : o[0]) {
    if (value < 66)
      small.insert(value);
    large += value > 255;
  }
  EXPECT_EQ(small.size(), 66u);
  EXPECT_GT(large, kCount / 8);
}

TEST(Values, MatrixClassesAreWhatTheySay) {
  const MatrixFormats formats{
      values_of(isa::Type::f16), values_of(isa::Type::f16), values_of(isa::Type::f32), 256, 128, 128};
  Random random(6);
  size_t specials = 0, subnormals = 0;
  for (int warp = 0; warp < 64; ++warp) {
    for (const uint64_t bits : make_matrix_operands(formats, OperandClass::special, random).a)
      specials += (bits & 0x7c00) == 0x7c00;
    for (const uint64_t bits : make_matrix_operands(formats, OperandClass::subnormal, random).a)
      subnormals += (bits & 0x7c00) == 0 && (bits & 0x3ff) != 0;
    const MatrixOperands m = make_matrix_operands(formats, OperandClass::cancelling, random);
    for (size_t i = 0; i < m.a.size(); i += 2)
      EXPECT_LE((m.a[i] ^ m.a[i + 1]) & 0x7fff, 1u);
  }
  EXPECT_GT(specials, 64u * 256 / 32);
  EXPECT_GT(subnormals, 64u * 256 / 4);
}

// A change here means that the recorded bits belong to other operands: record them again.
TEST(Values, RecordedOperandsStay) {
  const struct {
    const char* group;
    const char* name;
    const char* hash;
  } pinned[] = {
      {"integer", "rem.u16", "fa6aff0e8d8bfc48868cd1908b6bc260"},
      {"logic", "lop3.b32 tables 224..239", "6b784977ec10b530b54bb2d33b4c3503"},
      {"f32", "fma.rn.sat.f32", "76be934f21b3d243e250de433510bf94"},
      {"f64", "fma.rm.f64", "2cd6c98a5ab0da6b001e379e0319c5a6"},
      {"half", "fma.rn.bf16", "0d07812aec947a937ca18ef260ce6587"},
      {"compare", "setp.ltu.and.f64 !c", "cecc698ecc8f165164903b9e536687d4"},
      {"convert", "cvt.rpi.s32.bf16", "976662258bebeab80eb3ff118a65dd69"},
      {"carry", "mad.lo.cc.u64", "879abe2896d6a0a26b88d7113e0a058b"},
      {"atomic", "atom.global.min.noftz.v4.f16", "18f43a383a8f24da311099d6dd97db77"},
      {"divergence", "warp instructions after divergence", "800ba829c5179cf5faa84c7929145e6a"},
      {"memory", "ld.shared.v4.b16", "a4f43643987e4c6bc5b56f0565b1e39d"},
      {"mma", "m16n8k8.row.col.rz.f64.f64.f64.f64", "6f57054adbafc2fe66f964720657741a"},
      {"wmma", "load.c.sync.aligned.row.m32n8k16.shared.f32", "a2f5017f585834b1ba0d2307c2234101"},
      {"ldmatrix", "stmatrix.sync.aligned.m8n8.x1.b16", "97dd30885fcfe280750415ad73401ca9"},
  };
  for (const auto& p : pinned) {
    const Group group = make_group(p.group);
    const auto c =
        std::find_if(group.cases.begin(), group.cases.end(), [&](const Case& k) { return k.name == p.name; });
    ASSERT_NE(c, group.cases.end()) << p.name;
    const std::vector<std::byte> inputs = make_inputs(*c, p.group, 1);
    EXPECT_EQ(numeric::to_string(numeric::hash128(inputs.data(), inputs.size())), p.hash) << p.name;
  }
}

} // namespace
} // namespace lemma::golden
