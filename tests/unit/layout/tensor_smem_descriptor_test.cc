// Shared-memory descriptors of tcgen05: a whole example, every field, each rule's words, and where chunks lie
// next to CUTLASS's canonical layouts.
#include "layout/tensor_smem_descriptor.h"

#include <gtest/gtest.h>

#include <set>

namespace lemma::layout {
namespace {

using Descriptor = TensorSmemDescriptor;

std::string words(uint64_t bits, const TensorSmemUse& use = {}) {
  return wrong(Descriptor::decode(bits), use).value_or("");
}

constexpr uint64_t kRight = uint64_t{1} << 46;

TEST(TensorSmemDescriptor, AWholeOne) {
  const uint64_t bits = 0x0000401000080000 | 0x1230 >> 4;
  const Descriptor d = Descriptor::decode(bits);
  EXPECT_EQ(d.start, 0x1230u);
  EXPECT_EQ(d.leading, 128u);
  EXPECT_EQ(d.stride, 256u);
  EXPECT_EQ(d.version, 1);
  EXPECT_EQ(d.base_offset, 0);
  EXPECT_FALSE(d.leading_is_address);
  EXPECT_EQ(d.swizzle, SmemSwizzle::none);
  EXPECT_EQ(words(bits), "");
  EXPECT_EQ(d.encode(), bits);
}

TEST(TensorSmemDescriptor, EachFieldAlone) {
  EXPECT_EQ(Descriptor::decode(0x3fff).start, 0x3fff0u);
  EXPECT_EQ(Descriptor::decode(uint64_t{0x3fff} << 16).leading, 0x3fff0u);
  EXPECT_EQ(Descriptor::decode(uint64_t{0x3fff} << 32).stride, 0x3fff0u);
  EXPECT_EQ(Descriptor::decode(uint64_t{7} << 46).version, 7);
  EXPECT_EQ(Descriptor::decode(uint64_t{7} << 49).base_offset, 7);
  EXPECT_TRUE(Descriptor::decode(uint64_t{1} << 52).leading_is_address);
  using enum SmemSwizzle;
  const SmemSwizzle by_code[] = {none, b128_32b_atoms, b128, invalid, b64, invalid, b32, invalid};
  for (uint64_t code = 0; code < 8; ++code) {
    const Descriptor d = Descriptor::decode(kRight | code << 61);
    EXPECT_EQ(d.swizzle, by_code[code]);
    if (d.swizzle != invalid) {
      EXPECT_EQ(d.encode(), kRight | code << 61);
    }
  }
  // All that is no field is lost.
  const uint64_t all = ~uint64_t{0} >> 3 | uint64_t{6} << 61;
  EXPECT_EQ(Descriptor::decode(all).encode(),
            all & ~(uint64_t{3} << 14 | uint64_t{3} << 30 | uint64_t{0xff} << 53));
}

TEST(TensorSmemRules, Version) {
  EXPECT_EQ(words(0x12, {.operand = "a-desc"}),
            "a-desc 0x0000000000000012: version (bits 46-48) is 0b000, as in a "
            "descriptor of wgmma; legal: 0b001");
  for (uint64_t version = 2; version < 8; ++version)
    EXPECT_EQ(words(version << 46).empty(), false) << version;
  EXPECT_TRUE(words(uint64_t{5} << 46).ends_with(": version (bits 46-48) is 0b101; legal: 0b001"));
}

TEST(TensorSmemRules, BitsThatMustBeZero) {
  for (const int bit : {14, 15, 30, 31, 53, 54, 55, 56, 57, 58, 59, 60})
    EXPECT_NE(words(kRight | uint64_t{1} << bit).find(": reserved bits "), std::string::npos) << bit;
  EXPECT_TRUE(words(kRight | uint64_t{1} << 31).ends_with(": reserved bits 30-31 are 0x2; legal: 0"));
}

TEST(TensorSmemRules, Swizzles) {
  for (const uint64_t code : {3, 5, 7})
    EXPECT_TRUE(
        words(kRight | code << 61)
            .ends_with(fmt::format(": swizzle (bits 61-63) is {}; legal: 0 (none), 1 (128B with 32-byte "
                                   "atoms), 2 (128B), 4 (64B), 6 (32B)",
                                   code)));
  for (const bool tf32 : {false, true})
    for (const bool mn_major : {false, true})
      for (const uint64_t code : {0, 1, 2, 4, 6})
        EXPECT_EQ(words(kRight | code << 61, {.mn_major = mn_major, .tf32 = tf32}).empty(),
                  (code == 1) == (mn_major && tf32));
  EXPECT_TRUE(
      words(kRight | uint64_t{2} << 61, {.mn_major = true, .tf32 = true})
          .ends_with(": swizzle (bits 61-63) is 2 (128B); legal for MN-major tf32: 1 (128B with 32-byte "
                     "atoms)"));
  EXPECT_TRUE(
      words(kRight | uint64_t{1} << 61)
          .ends_with(": swizzle (bits 61-63) is 1 (128B with 32-byte atoms); legal but for MN-major tf32: 0 "
                     "(none), 2 (128B), 4 (64B), 6 (32B)"));
}

TEST(TensorSmemRules, AbsoluteLeadingDimension) {
  const uint64_t bits = kRight | uint64_t{1} << 52 | uint64_t{2} << 61;
  EXPECT_EQ(words(bits, {.k_bytes = 48}), "");
  EXPECT_TRUE(
      words(bits ^ uint64_t{6} << 61, {.k_bytes = 48})
          .ends_with(": swizzle (bits 61-63) is 4 (64B); legal where the leading dimension is an address: 2 "
                     "(128B)"));
  EXPECT_TRUE(
      words(bits | uint64_t{3} << 49, {.k_bytes = 48})
          .ends_with(": base offset (bits 49-51) is 3; legal where the leading dimension is an address: 0"));
  EXPECT_TRUE(
      words(bits).ends_with(": leading dimension mode (bit 52) is 1, an absolute address; legal: 0 where K "
                            "has 32 bytes (1 needs 48)"));
}

// In chunks, the first extent the fastest: an index taken apart, each part times its stride.
struct Mode {
  uint32_t extent, stride;
};
uint32_t apply(const std::vector<Mode>& modes, uint32_t index) {
  uint32_t sum = 0;
  for (const Mode& mode : modes) {
    sum += index % mode.extent * mode.stride;
    index /= mode.extent;
  }
  return sum;
}
// Bits `from` and up xored into bits `to` and up, so many.
uint32_t xored(uint32_t address, int bits, int to, int from) {
  const uint32_t mask = (1u << bits) - 1;
  return address ^ (address >> from & mask) << to;
}

constexpr uint32_t kLeadingChunks = 512, kStrideChunks = 64;

struct Canonical {
  SmemSwizzle swizzle;
  int xor_bits;
  std::vector<Mode> mn, k; // of an MN-major matrix: chunks of MN, rows of K; of a K-major one: rows, chunks
};

TEST(TensorSmemDescriptor, KMajorIsAsWgmmaHasIt) {
  const Canonical layouts[] = {
      {SmemSwizzle::none, 0, {{8, 1}, {32, kStrideChunks}}, {{2, kLeadingChunks}}},
      {SmemSwizzle::b32, 1, {{8, 2}, {32, kStrideChunks}}, {{2, 1}}},
      {SmemSwizzle::b64, 2, {{8, 4}, {32, kStrideChunks}}, {{2, 1}}},
      {SmemSwizzle::b128, 3, {{8, 8}, {32, kStrideChunks}}, {{2, 1}}},
  };
  for (const Canonical& want : layouts) {
    const Descriptor d{.start = 0x2000,
                       .leading = 16 * kLeadingChunks,
                       .stride = 16 * kStrideChunks,
                       .swizzle = want.swizzle};
    const auto same = d.as_wgmma();
    ASSERT_TRUE(same);
    for (uint32_t row = 0; row < 256; ++row)
      for (uint32_t chunk = 0; chunk < 2; ++chunk)
        EXPECT_EQ(same->k_major_chunk(row, chunk),
                  xored(0x2000 + 16 * (apply(want.mn, row) + apply(want.k, chunk)), want.xor_bits, 4, 7));
  }
}

TEST(TensorSmemDescriptor, MnMajorIsAsWgmmaHasIt) {
  const Canonical layouts[] = {
      {SmemSwizzle::none, 0, {{32, kStrideChunks}}, {{8, 1}, {4, kLeadingChunks}}},
      {SmemSwizzle::b32, 1, {{2, 1}, {16, kLeadingChunks}}, {{8, 2}, {4, kStrideChunks}}},
      {SmemSwizzle::b64, 2, {{4, 1}, {8, kLeadingChunks}}, {{8, 4}, {4, kStrideChunks}}},
      {SmemSwizzle::b128, 3, {{8, 1}, {4, kLeadingChunks}}, {{8, 8}, {4, kStrideChunks}}},
  };
  for (const Canonical& want : layouts) {
    const Descriptor d{.start = 0x2000,
                       .leading = 16 * kLeadingChunks,
                       .stride = 16 * kStrideChunks,
                       .swizzle = want.swizzle};
    const auto same = d.as_wgmma();
    ASSERT_TRUE(same);
    for (uint32_t chunk = 0; chunk < 32; ++chunk)
      for (uint32_t k = 0; k < 32; ++k)
        EXPECT_EQ(same->mn_major_chunk(chunk, k),
                  xored(0x2000 + 16 * (apply(want.mn, chunk) + apply(want.k, k)), want.xor_bits, 4, 7));
  }
}

TEST(TensorSmemDescriptor, AtomsOf32BytesAreInGroupsOfFourRows) {
  const Descriptor d{.start = 0x2000,
                     .leading = 16 * kLeadingChunks,
                     .stride = 16 * kStrideChunks,
                     .swizzle = SmemSwizzle::b128_32b_atoms};
  EXPECT_EQ(d.as_wgmma(), std::nullopt);
  const std::vector<Mode> mn = {{8, 1}, {4, kLeadingChunks}}, k = {{4, 8}, {2, kStrideChunks}};
  std::set<uint32_t> chunks;
  for (uint32_t chunk = 0; chunk < 32; ++chunk)
    for (uint32_t row = 0; row < 8; ++row) {
      const uint32_t address = d.mn_major_chunk_of_32b_atoms(chunk, row);
      EXPECT_EQ(address, xored(0x2000 + 16 * (apply(mn, chunk) + apply(k, row)), 2, 5, 7));
      chunks.insert(address);
    }
  EXPECT_EQ(chunks.size(), 32u * 8);
}

// Row r of 128-byte lines has its pair of chunks p at p ^ (r % 4).
TEST(Swizzle, AtomsOf32BytesMoveWithinALine) {
  for (uint32_t row = 0; row < 16; ++row)
    for (uint32_t chunk = 0; chunk < 8; ++chunk)
      EXPECT_EQ(swizzle_address_of_32b_atoms(row * 128 + chunk * 16),
                row * 128 + (chunk / 2 ^ row % 4) * 32 + chunk % 2 * 16);
  EXPECT_EQ(swizzle_address_of_32b_atoms(0x80, 1), 0x80u);
}

// Byte by byte: lines of 128 bytes, their 16-byte chunks exchanged as swizzled.
TEST(TensorSmemDescriptor, RowsOfThreeChunksGoOnAtAnAddress) {
  for (uint32_t along = 0; along < 128; along += 16) {
    const TensorSmemDescriptor d{.start = 0x2000 + along,
                                 .leading = 0x9000,
                                 .stride = 0x400,
                                 .leading_is_address = true,
                                 .swizzle = SmemSwizzle::b128};
    for (uint32_t row = 0; row < 24; ++row)
      for (uint32_t chunk = 0; chunk < 3; ++chunk) {
        const uint32_t in_line = along / 16 + chunk, line = row * 128 + (in_line < 8 ? 0x2000 : 0x9000);
        EXPECT_EQ(d.k_major_chunk_of_two_lines(row, chunk), line + (in_line % 8 ^ line / 128 % 8) * 16);
      }
  }
}

TEST(TensorSmemDescriptor, OnlyRelativeOnesAreAsWgmmaHasThem) {
  Descriptor d = Descriptor::decode(kRight | uint64_t{2} << 61 | uint64_t{3} << 49);
  const auto same = d.as_wgmma();
  ASSERT_TRUE(same);
  EXPECT_EQ(same->swizzle, Swizzle::b128);
  EXPECT_EQ(same->base_offset, 3u);
  d.leading_is_address = true;
  EXPECT_FALSE(d.as_wgmma());
  EXPECT_FALSE(Descriptor::decode(kRight | uint64_t{3} << 61).as_wgmma());
}

TEST(TensorSmemDescriptor, ExplainsEveryBitOnce) {
  for (const uint64_t bits :
       {uint64_t{0x0000401000080123}, uint64_t{0}, ~uint64_t{0}, uint64_t{0x5a5a5a5a5a5a5a5a}}) {
    int next = 0;
    uint64_t again = 0;
    for (const DescriptorField& field : explain(Descriptor::decode(bits))) {
      const size_t dash = field.bits.find('-');
      const int first = std::stoi(field.bits);
      EXPECT_EQ(first, next);
      next = (dash == std::string::npos ? first : std::stoi(field.bits.substr(dash + 1))) + 1;
      again |= field.value << first;
    }
    EXPECT_EQ(next, 64);
    EXPECT_EQ(again, bits);
  }
  std::string text;
  for (const DescriptorField& field : explain(Descriptor::decode(0x4000401000080123)))
    text += fmt::format("{} {} {} {}\n", field.bits, field.name, field.value, field.meaning);
  EXPECT_EQ(text, "0-13 start address 291 0x1230\n"
                  "14-15 reserved 0 \n"
                  "16-29 leading dimension 8 128 bytes\n"
                  "30-31 reserved 0 \n"
                  "32-45 stride dimension 16 256 bytes\n"
                  "46-48 version 1 tcgen05\n"
                  "49-51 base offset 0 0\n"
                  "52 leading dimension mode 0 byte offset\n"
                  "53-60 reserved 0 \n"
                  "61-63 swizzle 2 128B\n");
}

} // namespace
} // namespace lemma::layout
