// What a replay says: the element, its operands and both values where whole outputs are kept, else that the
// hash differs.
#include "golden/replay.h"

#include <gtest/gtest.h>

namespace lemma::golden {
namespace {

using isa::Type;

class Compare : public testing::Test {
protected:
  Compare() {
    c.name = "add";
    c.units = 64;
    c.parts = {{"ordinary", 0, 32}, {"special", 32, 32}};
    c.inputs = {{.name = "a", .type = Type::f32}, {.name = "b", .type = Type::f32}};
    c.outputs = {{.name = "d", .type = Type::f32}};
    lay_out(c.inputs, c.units);
    Inputs made(c.inputs, c.units);
    made.set(0, 40, 0x3f800000);
    made.set(1, 40, 0x80000000);
    inputs = made.bytes();
    outputs.resize(lay_out(c.outputs, c.units));
  }
  void flip(uint64_t unit) { outputs[unit * 4 + 3] ^= std::byte{0x80}; }

  Case c;
  std::vector<std::byte> inputs, outputs;
  GroupRecord record;
};

TEST_F(Compare, EqualIsEqual) {
  add_case(record, c, outputs, 16);
  const CaseComparison comparison = compare(c, record, inputs, outputs);
  EXPECT_TRUE(comparison.equal());
  EXPECT_EQ(comparison.parts[0].compared, 16u);
}

TEST_F(Compare, NamesElementOperandsAndValues) {
  add_case(record, c, outputs, 16);
  flip(40);
  const CaseComparison comparison = compare(c, record, inputs, outputs);
  EXPECT_FALSE(comparison.equal());
  EXPECT_TRUE(comparison.parts[0].equal);
  const PartComparison& part = comparison.parts[1];
  EXPECT_FALSE(part.equal);
  EXPECT_EQ(part.differing, 1u);
  ASSERT_EQ(part.first.size(), 1u);
  EXPECT_EQ(part.first[0].text,
            "thread 40: a=0x3f800000 (1) b=0x80000000 (-0) d: expected 0x00000000 (0), got 0x80000000 (-0)");
}

TEST_F(Compare, BeyondTheKeptElementsOnlyTheHashDiffers) {
  add_case(record, c, outputs, 16);
  flip(63);
  const CaseComparison comparison = compare(c, record, inputs, outputs);
  EXPECT_FALSE(comparison.equal());
  EXPECT_EQ(comparison.parts[1].differing, 0u);
  EXPECT_NE(comparison.parts[1].hash, comparison.parts[1].expected_hash);
}

TEST_F(Compare, ShowsThreeDifferencesOfMany) {
  add_case(record, c, outputs, 32);
  for (uint64_t unit = 0; unit < 10; ++unit)
    flip(unit);
  const CaseComparison comparison = compare(c, record, inputs, outputs);
  EXPECT_EQ(comparison.parts[0].differing, 10u);
  EXPECT_EQ(comparison.parts[0].first.size(), 3u);
}

// A changed file is found too: the kept bytes and the hash must say the same.
TEST_F(Compare, ChangedRecordsDiffer) {
  add_case(record, c, outputs, 16);
  GroupRecord other_bytes = record, other_hash = record, other_parts = record;
  other_bytes.kept[5] ^= std::byte{1};
  EXPECT_FALSE(compare(c, other_bytes, inputs, outputs).equal());
  other_hash.cases["add"].parts[0].second[0] ^= 1;
  EXPECT_FALSE(compare(c, other_hash, inputs, outputs).equal());
  other_parts.cases["add"].parts[1].first = "wide";
  EXPECT_FALSE(compare(c, other_parts, inputs, outputs).recorded);
  EXPECT_FALSE(compare(c, GroupRecord(), inputs, outputs).recorded);
}

TEST(ElementText, ShowsBitsAndNumber) {
  EXPECT_EQ(element_text(Type::f16x2, 4, 0x3c00fc00), "0x3c00fc00 (-inf, 1)");
  EXPECT_EQ(element_text(Type::s8, 1, 0x80), "0x80 (-128)");
  EXPECT_EQ(element_text(Type::u64, 8, ~uint64_t{0}), "0xffffffffffffffff (18446744073709551615)");
  EXPECT_EQ(element_text(Type::bf16, 2, 0x7fff), "0x7fff (nan)");
  EXPECT_EQ(element_text(Type::b32, 4, 5), "0x00000005");
  EXPECT_EQ(element_text(Type::pred, 1, 1), "1");
}

} // namespace
} // namespace lemma::golden
