// Known answers of the hash and the generators, and the promises of the operand classes.
#include "numeric/hash.h"

#include <gtest/gtest.h>

namespace lemma::numeric {
namespace {

// SMHasher's verification value: hashes of the keys {}, {0}, {0,1} ... with seeds 256 - length, hashed again.
TEST(Hash, SmhasherVerification) {
  std::vector<uint8_t> key(256), hashes;
  for (int i = 0; i < 256; ++i) {
    key[i] = static_cast<uint8_t>(i);
    const Hash128 hash = hash128(key.data(), i, 256 - i);
    for (const uint64_t word : {hash.low, hash.high})
      for (int byte = 0; byte < 8; ++byte)
        hashes.push_back(static_cast<uint8_t>(word >> (8 * byte)));
  }
  EXPECT_EQ(static_cast<uint32_t>(hash128(hashes.data(), hashes.size()).low), 0x6384ba69u);
}

TEST(Hash, Text) {
  EXPECT_EQ(to_string(hash128("", 0)), "00000000000000000000000000000000");
  EXPECT_EQ(to_string(Hash128{0x1, 0xab}), "000000000000000100000000000000ab");
}

TEST(Random, KnownAnswers) {
  uint64_t state = 1234567;
  EXPECT_EQ(splitmix64(state), 6457827717110365317u);
  EXPECT_EQ(splitmix64(state), 3203168211198807973u);
  EXPECT_EQ(splitmix64(state), 9817491932198370423u);
  Random random(1, 2, 3, 4);
  EXPECT_EQ(random.next(), 11520u);
  EXPECT_EQ(random.next(), 0u);
  EXPECT_EQ(random.next(), 1509978240u);
  EXPECT_EQ(random.next(), 1215971899390074240u);
}

TEST(Operands, FitTheFormatAndCoverTheClass) {
  for (const FloatFormat format : kAllFloatFormats)
    for (const OperandClass operand_class : kAllOperandClasses) {
      Random random(7);
      bool special = false, subnormal = false;
      for (const uint64_t bits : operands(format, operand_class, random, 2000)) {
        const FormatTraits& t = traits(format);
        ASSERT_EQ(bits & ~t.storage_mask(), 0u);
        const Decoded value = decode(format, bits);
        special |= value.float_class == FloatClass::nan || value.float_class == FloatClass::infinity;
        subnormal |= value.float_class == FloatClass::finite && (bits & t.magnitude_mask()) < t.min_normal();
      }
      if (operand_class != OperandClass::special) {
        EXPECT_FALSE(special) << to_string(format) << " " << to_string(operand_class);
      } else if (traits(format).has_nan()) {
        EXPECT_TRUE(special) << to_string(format);
      }
      if (operand_class == OperandClass::subnormal && traits(format).has_zero) {
        EXPECT_TRUE(subnormal) << to_string(format);
      }
    }
}

TEST(Operands, RepeatForASeed) {
  Random first(99), second(99);
  EXPECT_EQ(operands(FloatFormat::f16, OperandClass::special, first, 100),
            operands(FloatFormat::f16, OperandClass::special, second, 100));
  EXPECT_EQ(operands(IntegerFormat::s8, OperandClass::wide, first, 100),
            operands(IntegerFormat::s8, OperandClass::wide, second, 100));
}

} // namespace
} // namespace lemma::numeric
