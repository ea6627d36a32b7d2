// Matrix descriptors and swizzles: fields, and where elements of the usual tiles lie, stated without formulas
// of chunks.
#include "layout/smem_descriptor.h"

#include <gtest/gtest.h>

#include <set>

namespace lemma::layout {
namespace {

constexpr Swizzle kSwizzles[] = {Swizzle::none, Swizzle::b32, Swizzle::b64, Swizzle::b128};

TEST(Swizzle, MovesChunksWithinALine) {
  // Row r of 128-byte lines has its chunk c at c ^ (r % 8); 64-byte lines change every second row, 32-byte
  // lines every fourth.
  for (uint32_t row = 0; row < 32; ++row)
    for (uint32_t chunk = 0; chunk < 8; ++chunk) {
      EXPECT_EQ(swizzle_address(row * 128 + chunk * 16, Swizzle::b128), row * 128 + (chunk ^ row % 8) * 16);
      EXPECT_EQ(swizzle_address(row * 64 + chunk % 4 * 16, Swizzle::b64),
                row * 64 + (chunk % 4 ^ row / 2 % 4) * 16);
      EXPECT_EQ(swizzle_address(row * 32 + chunk % 2 * 16, Swizzle::b32),
                row * 32 + (chunk % 2 ^ row / 4 % 2) * 16);
      EXPECT_EQ(swizzle_address(row * 16, Swizzle::none), row * 16);
    }
}

TEST(Swizzle, BaseOffsetIsSubtractedFromTheLine) {
  EXPECT_EQ(swizzle_address(0x80, Swizzle::b128, 1), 0x80u);
  EXPECT_EQ(swizzle_address(0x80, Swizzle::b128, 2), 0xf0u);
  EXPECT_EQ(swizzle_address(0x80, Swizzle::b32, 2), 0x90u);
}

TEST(SmemDescriptor, FieldsGoThere) {
  const SmemDescriptor d =
      SmemDescriptor::decode(uint64_t{0x0123} | uint64_t{0x0045} << 16 | uint64_t{0x0067} << 32 |
                             uint64_t{5} << 49 | uint64_t{2} << 62);
  EXPECT_EQ(d.start, 0x1230u);
  EXPECT_EQ(d.leading, 0x450u);
  EXPECT_EQ(d.stride, 0x670u);
  EXPECT_EQ(d.base_offset, 5u);
  EXPECT_EQ(d.swizzle, Swizzle::b64);
}

TEST(SmemDescriptor, EncodesWhatItDecodes) {
  for (const Swizzle swizzle : kSwizzles) {
    const SmemDescriptor d{
        .start = 0x3fff0, .leading = 128, .stride = 1024, .base_offset = 3, .swizzle = swizzle};
    const SmemDescriptor again = SmemDescriptor::decode(d.encode());
    EXPECT_EQ(again.start, d.start);
    EXPECT_EQ(again.leading, d.leading);
    EXPECT_EQ(again.stride, d.stride);
    EXPECT_EQ(again.base_offset, d.base_offset);
    EXPECT_EQ(again.swizzle, d.swizzle);
  }
}

// A tile of 64 rows of a whole line, as TMA writes it: row r at r * line, its chunks swizzled. K steps within
// the line move the start address. The B of a sparse product has 64 bytes in K: two lines of a 32-byte
// swizzle, `leading` apart.
TEST(SmemDescriptor, KMajorGoesOnInTheNextLine) {
  const SmemDescriptor d{.start = 1024, .leading = 4096, .stride = 256, .swizzle = Swizzle::b32};
  EXPECT_EQ(d.k_major_chunk(0, 1), 1024u + 16);
  EXPECT_EQ(d.k_major_chunk(0, 2), 1024u + 4096);
  EXPECT_EQ(d.k_major_chunk(9, 3), 1024u + 256 + 32 + 4096 + 16);
  const SmemDescriptor wide{.start = 1024, .leading = 4096, .stride = 1024, .swizzle = Swizzle::b128};
  EXPECT_EQ(wide.k_major_chunk(0, 3), 1024u + 48);
}

TEST(SmemDescriptor, KMajorReadsWhatSwizzledRowsHold) {
  for (const Swizzle swizzle : {Swizzle::b32, Swizzle::b64, Swizzle::b128}) {
    const uint32_t line = line_bytes(swizzle);
    for (uint32_t step = 0; step < line; step += 32) {
      const SmemDescriptor d{.start = 4096 + step, .stride = 8 * line, .swizzle = swizzle};
      for (uint32_t row = 0; row < 64; ++row)
        for (uint32_t chunk = 0; chunk < 2; ++chunk)
          EXPECT_EQ(d.k_major_chunk(row, chunk),
                    swizzle_address(4096 + row * line + step + chunk * kChunkBytes, swizzle));
    }
  }
}

// The canonical tiles of 128 x 16 elements of 16 bits use every chunk once.
TEST(SmemDescriptor, CanonicalTilesAreDense) {
  for (const Swizzle swizzle : kSwizzles)
    for (const bool mn_major : {false, true}) {
      const uint32_t line = line_bytes(swizzle);
      SmemDescriptor d{.leading = 16 * line, .stride = 8 * line, .swizzle = swizzle};
      if (swizzle == Swizzle::none)
        d = {.leading = mn_major ? 2048u : 128u, .stride = mn_major ? 128u : 256u};
      std::set<uint32_t> chunks;
      for (uint32_t i = 0; i < 256; ++i)
        chunks.insert(mn_major ? d.mn_major_chunk(i / 16, i % 16) : d.k_major_chunk(i / 2, i % 2));
      EXPECT_EQ(chunks.size(), 256u);
      const uint32_t used = !mn_major && swizzle != Swizzle::none ? 128 * line : 4096;
      EXPECT_LT(*chunks.rbegin(), used);
    }
}

// Measured on an H200: there a matrix leaves shared memory, an illegal access.
TEST(SmemDescriptor, AddressesDoNotWrapAt18Bits) {
  const SmemDescriptor d{.start = 0x3fff0, .leading = 16, .stride = 128};
  EXPECT_EQ(d.k_major_chunk(0, 1), 0x40000u);
}

} // namespace
} // namespace lemma::layout
