// Swizzles of 128 bytes with atoms of more than 16, of sm_100: where chunks go, the sizes of boxes, the
// rules, and the 128 bytes. No hardware that has them has been measured: expected is the text of the CUDA
// driver's manual, and what swizzle.h and tensor_map.h assume.
#include "layout/tensor_box.h"
#include "layout/tensor_map.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace lemma::layout {
namespace {

constexpr auto k32 = TensorSwizzle::b128_atom_32b, kFlip = TensorSwizzle::b128_atom_32b_flip_8b,
               k64 = TensorSwizzle::b128_atom_64b;

TensorMap tile_map(TensorSwizzle swizzle) {
  return {.type = TensorType::f32,
          .address = 0x1000,
          .dims = {64, 10},
          .strides_bytes = {256},
          .box = {32, 4},
          .swizzle = swizzle};
}

// What each 8 bytes of a line of 128 hold: a letter for each half of a chunk, a to p.
std::string line_of(uint32_t line, TensorSwizzle swizzle) {
  std::string text(16, '?');
  for (uint32_t half = 0; half < 16; ++half) {
    const uint32_t address = swizzle_address(line * 128 + half * 8, swizzle);
    EXPECT_EQ(address / 128, line);
    EXPECT_EQ(swizzle_address(address, swizzle), line * 128 + half * 8) << "the way back is the same";
    text[address % 128 / 8] = static_cast<char>('a' + half);
  }
  return text;
}

TEST(SwizzleAtoms, MoveWithinTheirLine) {
  const std::pair<TensorSwizzle, std::vector<std::string>> cases[] = {
      {TensorSwizzle::b128, {"abcdefghijklmnop", "cdabghefklijopmn", "efghabcdmnopijkl", "ghefcdabopmnklij"}},
      {k32, {"abcdefghijklmnop", "efghabcdmnopijkl", "ijklmnopabcdefgh", "mnopijklefghabcd"}},
      {kFlip, {"abcdefghijklmnop", "fehgbadcnmpojilk", "ijklmnopabcdefgh", "nmpojilkfehgbadc"}},
      {k64, {"abcdefghijklmnop", "ijklmnopabcdefgh", "abcdefghijklmnop", "ijklmnopabcdefgh"}}};
  for (const auto& [swizzle, lines] : cases)
    for (uint32_t line = 0; line < 4; ++line)
      EXPECT_EQ(line_of(line, swizzle), lines[line]) << swizzle_word(swizzle) << ", " << line;
  for (const auto& [swizzle, bytes] :
       {std::pair{TensorSwizzle::b32, 256u}, std::pair{TensorSwizzle::b128, 1024u}, std::pair{k32, 512u},
        std::pair{kFlip, 512u}, std::pair{k64, 256u}}) {
    EXPECT_EQ(pattern_bytes(swizzle), bytes);
    for (uint32_t line = 0; line < 8; ++line)
      EXPECT_EQ(line_of(line, swizzle), line_of(line + bytes / 128, swizzle));
  }
}

TEST(SwizzleAtoms, RowsTakeALineOf128Bytes) {
  for (const TensorSwizzle swizzle : {k32, kFlip, k64}) {
    TensorMap map = tile_map(swizzle);
    map.box = {12, 5};
    ASSERT_EQ(wrong_with(map), "");
    const TensorMapFields fields = decode(encode(map));
    EXPECT_EQ(row_bytes(fields), 48u);
    EXPECT_EQ(row_pitch(fields), 128u);
    EXPECT_EQ(box_bytes(fields), 240u);
    EXPECT_EQ(shared_bytes(fields), 640u);
    map.box[0] = 36;
    EXPECT_EQ(wrong_with(map), "box[0] takes 144 bytes, more than the 128 of the swizzle");
  }
}

TEST(SwizzleAtoms, AreForSomeMaps) {
  TensorMap map = tile_map(k32);
  map.dims.push_back(3);
  map.strides_bytes.push_back(4096);
  map.box.push_back(1);
  map.interleave = TensorInterleave::b16;
  EXPECT_EQ(wrong_with(map), "");
  map.interleave = TensorInterleave::b32;
  EXPECT_EQ(wrong_with(map), "interleave 32B takes swizzle 32B, not 128B_ATOM_32B");
  map = tile_map(static_cast<TensorSwizzle>(7));
  EXPECT_EQ(wrong_with(map), "swizzle is 7: legal are 0 (none), 1 (32B), 2 (64B), 3 (128B), and of sm_100 4 "
                             "(128B_ATOM_32B), 5 (128B_ATOM_32B_FLIP_8B) and 6 (128B_ATOM_64B)");
  const auto padded = [](TensorType type, TensorSwizzle swizzle) {
    return wrong_with({.type = type,
                       .address = 0x1000,
                       .dims = {256, 3},
                       .strides_bytes = {192},
                       .box = {128, 2},
                       .swizzle = swizzle});
  };
  EXPECT_EQ(padded(TensorType::b4x16_p64, k32), "");
  EXPECT_EQ(padded(TensorType::b6x16_p32, k32), "");
  EXPECT_EQ(padded(TensorType::b6x16_p32, k64), "");
  EXPECT_EQ(padded(TensorType::b4x16_p64, k64),
            "b4x16_p64 takes swizzle none, 128B or 128B_ATOM_32B, not 128B_ATOM_64B");
  EXPECT_EQ(padded(TensorType::b6x16_p32, kFlip), "b6x16_p32 takes swizzle none, 128B or 128B_ATOM_32B, and "
                                                  "128B_ATOM_64B for stores, not 128B_ATOM_32B_FLIP_8B");
}

// Bits 13 and 14 of word 1, and 23 and 24.
TEST(SwizzleAtoms, HaveBitsOfTheirOwn) {
  const TensorMapBytes plain = encode(tile_map(TensorSwizzle::b128));
  uint8_t number = 0;
  for (const TensorSwizzle swizzle : {k32, kFlip, k64}) {
    ++number;
    const TensorMapBytes bytes = encode(tile_map(swizzle));
    TensorMapBytes expected = plain;
    expected[8 + 2] |= static_cast<std::byte>(number % 2 * 0x80);
    expected[8 + 3] |= static_cast<std::byte>(number / 2);
    EXPECT_EQ(bytes, expected);
    EXPECT_EQ(wrong_with(bytes), "");
    EXPECT_EQ(decode(bytes).swizzle, swizzle);
    EXPECT_EQ(encode(decode(bytes)), bytes);
    EXPECT_EQ(decode(bytes, map_reader(90)).swizzle, TensorSwizzle::b128);
    EXPECT_EQ(decode(bytes, map_reader(120)).swizzle, swizzle);
    TensorMapBytes replaced = plain;
    replace(replaced, ReplacedField::swizzle_atomicity, 0, number);
    EXPECT_EQ(replaced, bytes);
    replace(replaced, ReplacedField::swizzle_atomicity, 0, 0);
    EXPECT_EQ(replaced, plain);
  }
}

// tensormap.replace makes what the driver does not.
TEST(SwizzleAtoms, AreOf128BytesAlone) {
  TensorMap map = tile_map(TensorSwizzle::b64);
  map.box[0] = 16;
  TensorMapBytes bytes = encode(map);
  replace(bytes, ReplacedField::swizzle_atomicity, 0, 3);
  EXPECT_EQ(wrong_with(bytes),
            "its swizzle atomicity is 3 with swizzle 64B: legal are 0 (16B), and with swizzle "
            "128B 1 (32B), 2 (32B, halves of 8B flipped) and 3 (64B)");
  EXPECT_EQ(wrong_with(bytes, MapReader::sm_90), "");
  EXPECT_EQ(decode(bytes, MapReader::sm_90).swizzle, TensorSwizzle::b64);
  replace(bytes, ReplacedField::swizzle_mode, 0, 0);
  EXPECT_EQ(wrong_with(bytes), "");
  EXPECT_EQ(decode(bytes).swizzle, TensorSwizzle::none);
}

} // namespace
} // namespace lemma::layout
