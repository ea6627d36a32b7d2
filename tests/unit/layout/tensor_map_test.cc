// Tensor maps: the rules that are checked, the bytes, and which elements a box has, next to what the ISA's
// definitions give element by element.
#include "layout/tensor_box.h"
#include "layout/tensor_map.h"
#include "numeric/hash.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <optional>

namespace lemma::layout {
namespace {

TensorMap tile_map() {
  return {.type = TensorType::f16,
          .address = 0x1000,
          .dims = {64, 10, 3},
          .strides_bytes = {256, 4096},
          .box = {16, 4, 2}};
}

// Pixels of a 9 x 7 image with 32 channels, batches of 2, for a filter of 3 x 3 with a border of 1.
TensorMap image_map() {
  return {.type = TensorType::f16,
          .address = 0x1000,
          .dims = {32, 9, 7, 2},
          .strides_bytes = {64, 640, 6400},
          .im2col = TensorIm2col{
              .lower = {-1, -1}, .upper = {-1, -1}, .channels_per_pixel = 16, .pixels_per_column = 80}};
}

TensorMapFields encoded(const TensorMap& map) {
  EXPECT_EQ(wrong_with(map), "");
  return decode(encode(map));
}

// The offset in the tensor of each element of the box, in the order of shared memory; none: outside.
using Elements = std::vector<std::optional<uint64_t>>;

Elements elements_of(const TensorMapFields& map, const BoxRequest& request) {
  const uint32_t size = element_bytes(map.type);
  Elements elements;
  for (const BoxRun& run : box_runs(map, request, BoxUse::load)) {
    EXPECT_EQ(run.box_offset, elements.size() * size) << "runs come in order and leave nothing out";
    for (uint32_t at = 0; at < run.bytes; at += size)
      elements.push_back(run.inside ? std::optional(run.global_offset + at) : std::nullopt);
  }
  EXPECT_EQ(elements.size() * size, box_bytes(map));
  return elements;
}

// Of the element at a position; none: outside.
std::optional<uint64_t> offset_of(const TensorMap& map, const std::vector<int64_t>& position) {
  uint64_t offset = static_cast<uint64_t>(position[0]) * element_bytes(map.type);
  for (size_t d = 0; d < position.size(); ++d) {
    if (position[d] < 0 || position[d] >= static_cast<int64_t>(map.dims[d]))
      return std::nullopt;
    if (d > 0)
      offset += static_cast<uint64_t>(position[d]) * map.strides_bytes[d - 1];
  }
  return offset;
}

Elements expected_tile(const TensorMap& map, const BoxRequest& request) {
  Elements elements;
  std::vector<int64_t> position(map.dims.size());
  const std::function<void(size_t)> fill = [&](size_t left) {
    if (left == 0) {
      elements.push_back(offset_of(map, position));
      return;
    }
    const size_t d = left - 1;
    const uint32_t stride = d == 0 || map.element_strides.empty() ? 1 : map.element_strides[d];
    for (uint32_t i = 0; i < map.box[d]; i += stride) {
      position[d] = int64_t{request.coordinates[d]} + i;
      fill(d);
    }
  };
  fill(map.dims.size());
  return elements;
}

TEST(TensorMap, RightMaps) {
  EXPECT_EQ(wrong_with(tile_map()), "");
  EXPECT_EQ(wrong_with(image_map()), "");
}

TEST(TensorMap, SaysWhichRuleIsBroken) {
  struct Case {
    std::function<void(TensorMap&)> change;
    const char* message;
  };
  const Case cases[] = {
      {[](TensorMap& m) { m.dims.clear(); }, "dims has 0 entries: a tensor has 1 to 5 dimensions"},
      {[](TensorMap& m) { m.dims[1] = 0; }, "dims[1] is 0: legal are 1 to 2^32"},
      {[](TensorMap& m) { m.strides_bytes.pop_back(); },
       "strides_bytes has 1 entries: 3 dimensions need 2 (the innermost has none)"},
      {[](TensorMap& m) { m.address = 0x1008; }, "the tensor's address 0x1008 is not a multiple of 16"},
      {[](TensorMap& m) { m.strides_bytes[0] = 250; },
       "strides_bytes[0] is 250: legal are multiples of 16 below 2^40"},
      {[](TensorMap& m) { m.strides_bytes[1] = uint64_t{1} << 40; },
       "strides_bytes[1] is 1099511627776: legal are multiples of 16 below 2^40"},
      {[](TensorMap& m) { m.box[2] = 257; }, "box[2] is 257: legal are 1 to 256"},
      {[](TensorMap& m) { m.box.pop_back(); }, "box has 2 entries for 3 dimensions"},
      {[](TensorMap& m) { m.box[0] = 12; }, "box[0] takes 24 bytes: legal are multiples of 16"},
      {[](TensorMap& m) {
         m.box[0] = 4;
         m.interleave = TensorInterleave::b16;
       },
       "box[0] takes 8 bytes: legal are multiples of 16"},
      {[](TensorMap& m) {
         m.box[0] = 64;
         m.swizzle = TensorSwizzle::b64;
       },
       "box[0] takes 128 bytes, more than the 64 of the swizzle"},
      {[](TensorMap& m) { m.element_strides = {1, 9, 1}; }, "element_strides[1] is 9: legal are 1 to 8"},
      {[](TensorMap& m) {
         m.type = TensorType::u16;
         m.oob_fill = TensorFill::nan;
       },
       "oob_fill nan needs a floating-point type, not u16"},
      {[](TensorMap& m) {
         m.dims = {64, 10};
         m.strides_bytes = {256};
         m.box = {16, 4};
         m.interleave = TensorInterleave::b16;
       },
       "an interleaved tensor has 3 dimensions or more, not 2"},
  };
  for (const Case& c : cases) {
    TensorMap map = tile_map();
    c.change(map);
    EXPECT_EQ(wrong_with(map), c.message);
  }
}

TEST(TensorMap, SaysWhichRuleOfIm2colIsBroken) {
  struct Case {
    std::function<void(TensorMap&)> change;
    const char* message;
  };
  const Case cases[] = {
      {[](TensorMap& m) { m.im2col->lower = {-1}; },
       "im2col lower has 1 entries: a tensor of 4 dimensions has 2 spatial ones"},
      {[](TensorMap& m) { m.im2col->upper[1] = 128; },
       "im2col upper has 128: legal with 2 spatial dimensions are -128 to 127"},
      {[](TensorMap& m) { m.im2col->channels_per_pixel = 0; }, "channels_per_pixel is 0: legal are 1 to 256"},
      {[](TensorMap& m) { m.im2col->pixels_per_column = 1025; },
       "pixels_per_column is 1025: legal are 1 to 1024"},
      {[](TensorMap& m) { m.box = {1, 1, 1, 1}; }, "an im2col map has no box"},
  };
  for (const Case& c : cases) {
    TensorMap map = image_map();
    c.change(map);
    EXPECT_EQ(wrong_with(map), c.message);
  }
}

// Of elements narrower than a byte: cuTensorMapEncodeTiled.
TEST(TensorMap, SaysWhichRuleOfPackedTypesIsBroken) {
  const auto packed = [](TensorType type) {
    return TensorMap{.type = type,
                     .address = 0x1000,
                     .dims = {256, 10, 3},
                     .strides_bytes = {192, 4096},
                     .box = {128, 4, 2}};
  };
  struct Case {
    TensorType type;
    std::function<void(TensorMap&)> change;
    const char* message;
  };
  constexpr auto b4x16 = TensorType::b4x16, b4x16_p64 = TensorType::b4x16_p64,
                 b6x16_p32 = TensorType::b6x16_p32;
  const Case cases[] = {
      {b4x16, [](TensorMap&) {}, ""},
      {b4x16, [](TensorMap& m) { m.address = 0x1010; }, ""},
      {b4x16_p64, [](TensorMap&) {}, ""},
      {b6x16_p32, [](TensorMap& m) { m.swizzle = TensorSwizzle::b128; }, ""},
      {b4x16, [](TensorMap& m) { m.dims[0] = 255; }, "dims[0] is 255: legal with b4x16 are multiples of 2"},
      {b4x16, [](TensorMap& m) { m.box[0] = 48; }, "box[0] is 48: legal with b4x16 are multiples of 32"},
      {b4x16, [](TensorMap& m) { m.swizzle = TensorSwizzle::b32; },
       "box[0] takes 64 bytes, more than the 32 of the swizzle"},
      {b4x16_p64, [](TensorMap& m) { m.dims[0] = 192; },
       "dims[0] is 192: legal with b4x16_p64 are multiples of 128"},
      {b4x16_p64, [](TensorMap& m) { m.box[0] = 64; }, "box[0] is 64: legal with b4x16_p64 is 128"},
      {b4x16_p64, [](TensorMap& m) { m.address = 0x1010; },
       "the tensor's address 0x1010 is not a multiple of 32"},
      {b6x16_p32, [](TensorMap& m) { m.strides_bytes[0] = 208; },
       "strides_bytes[0] is 208: legal are multiples of 32 below 2^40"},
      {b6x16_p32, [](TensorMap& m) { m.swizzle = TensorSwizzle::b64; },
       "b6x16_p32 takes swizzle none, 128B or 128B_ATOM_32B, and 128B_ATOM_64B for stores, not 64B"},
      {b6x16_p32, [](TensorMap& m) { m.interleave = TensorInterleave::b16; },
       "b6x16_p32 takes no interleave"},
      {b4x16, [](TensorMap& m) { m.oob_fill = TensorFill::nan; },
       "oob_fill nan needs a floating-point type, not b4x16"},
  };
  for (const Case& c : cases) {
    TensorMap map = packed(c.type);
    c.change(map);
    EXPECT_EQ(wrong_with(map), c.message);
  }
}

TEST(TensorMap, SaysWhichModeIsNone) {
  struct Case {
    std::function<void(TensorMap&)> change;
    const char* message;
  };
  const Case cases[] = {
      {[](TensorMap& m) { m.type = static_cast<TensorType>(16); },
       "the element type is 16: legal are 0 (u8) to 15 (b6x16_p32)"},
      {[](TensorMap& m) { m.interleave = static_cast<TensorInterleave>(3); },
       "interleave is 3: legal are 0 (none), 1 (16B) and 2 (32B)"},
      {[](TensorMap& m) { m.swizzle = static_cast<TensorSwizzle>(7); },
       "swizzle is 7: legal are 0 (none), 1 (32B), 2 (64B), 3 (128B), and of sm_100 4 (128B_ATOM_32B), 5 "
       "(128B_ATOM_32B_FLIP_8B) and 6 (128B_ATOM_64B)"},
      {[](TensorMap& m) { m.oob_fill = static_cast<TensorFill>(255); },
       "oob_fill is 255: legal are 0 (zeros) and 1 (nan)"},
      {[](TensorMap& m) { m.l2_promotion = static_cast<TensorL2>(4); },
       "l2_promotion is 4: legal are 0 (none), 1 (64B), 2 (128B) and 3 (256B)"},
  };
  for (const Case& c : cases) {
    TensorMap map = tile_map();
    c.change(map);
    EXPECT_EQ(wrong_with(map), c.message);
  }
}

// The rules that the driver has, though its manual has not, and the manual's that it has not (driver
// 580.159.04).
TEST(TensorMap, AsksWhatTheDriverAsks) {
  TensorMap tile = tile_map();
  tile.address = (uint64_t{1} << 57) - 16;
  EXPECT_EQ(wrong_with(tile), "");
  tile.address += 16;
  EXPECT_EQ(wrong_with(tile), "the tensor's address is 0x200000000000000: legal are those below 2^57");
  tile = tile_map();
  tile.type = TensorType::u8;
  tile.box = {256, 57, 16};
  EXPECT_EQ(wrong_with(tile), "");
  tile.box = {16, 139, 105};
  EXPECT_EQ(wrong_with(tile),
            "the box takes 233520 bytes, more than the 233472 of shared memory that there are");
  tile = tile_map();
  tile.interleave = TensorInterleave::b32;
  for (const TensorSwizzle swizzle :
       {TensorSwizzle::none, TensorSwizzle::b32, TensorSwizzle::b64, TensorSwizzle::b128}) {
    tile.swizzle = swizzle;
    EXPECT_EQ(wrong_with(tile), "");
  }
  TensorMap image = image_map();
  image.im2col->upper = {-1, -8};
  EXPECT_EQ(
      wrong_with(image),
      "the bounding box has no pixels in spatial dimension 1: it reaches from -1 to 7 + -8 (in 32 bits)");
  image = image_map();
  image.interleave = TensorInterleave::b16;
  image.im2col->channels_per_pixel = 12;
  EXPECT_EQ(wrong_with(image), "channels_per_pixel takes 24 bytes: legal are multiples of 16");
}

TEST(EncodedTensorMap, IsRightAsEncoded) {
  EXPECT_EQ(wrong_with(encode(tile_map())), "");
  EXPECT_EQ(wrong_with(encode(image_map())), "");
}

// Every field, at its largest and its smallest.
TEST(EncodedTensorMap, SaysWhatWasEncoded) {
  TensorMap tile = tile_map();
  tile.strides_bytes = {(uint64_t{1} << 40) - 16, uint64_t{1} << 36};
  tile.dims = {1, uint64_t{1} << 32, 7};
  tile.element_strides = {8, 1, 3};
  tile.box = {8, 255, 16};
  tile.oob_fill = TensorFill::nan;
  tile.l2_promotion = TensorL2::b256;
  const TensorMapFields fields = encoded(tile);
  EXPECT_EQ(fields.strides_bytes,
            (std::array<uint64_t, 4>{(uint64_t{1} << 40) - 16, uint64_t{1} << 36, 0, 0}));
  EXPECT_EQ(fields.dims, (std::array<uint64_t, 5>{1, uint64_t{1} << 32, 7, 1, 1}));
  EXPECT_EQ(fields.element_strides, (std::array<uint8_t, 5>{8, 1, 3, 1, 1}));
  EXPECT_EQ(fields.box, (std::array<uint16_t, 5>{8, 255, 16, 1, 1}));
  EXPECT_EQ(fields.oob_fill, TensorFill::nan);
  EXPECT_EQ(fields.l2_promotion, TensorL2::b256);
  TensorMap image = image_map();
  image.im2col->lower = {-128, 127};
  image.im2col->upper = {127, -1};
  image.dims[2] = 200;
  const TensorMapFields corners = encoded(image);
  EXPECT_TRUE(corners.is_im2col());
  EXPECT_EQ(corners.lower, (std::array<int16_t, 3>{-128, 127, 0}));
  EXPECT_EQ(corners.upper, (std::array<int16_t, 3>{127, -1, 0}));
  EXPECT_EQ(corners.channels, 16);
  EXPECT_EQ(corners.pixels, 80);
}

// Sixteen types, as many codes, and none besides.
TEST(EncodedTensorMap, HasACodeForEachType) {
  for (uint8_t i = 0; i < 16; ++i) {
    TensorMapFields fields = encoded(tile_map());
    fields.type = static_cast<TensorType>(i);
    EXPECT_EQ(decode(encode(fields)).type, fields.type);
  }
  TensorMapBytes bytes = encode(tile_map());
  for (const uint64_t code : {14, 15}) {
    put(bytes, map_field::type, 0, code);
    EXPECT_EQ(wrong_with(bytes),
              "its element type is number " + std::to_string(code) + ": legal are 0 (u8) to 13 (b6x16_p32)");
  }
}

// A kernel makes maps of zeros, which have a rank and sizes.
TEST(EncodedTensorMap, OfZerosHasOneByte) {
  TensorMapBytes bytes{};
  EXPECT_EQ(wrong_with(bytes), "all 128 bytes are zero: no field has been set");
  EXPECT_EQ(decode(bytes).rank, 1);
  EXPECT_EQ(decode(bytes).dims[0], 1u);
  replace(bytes, ReplacedField::global_address, 0, 0x1000);
  EXPECT_EQ(wrong_with(bytes), "box[0] takes 1 bytes: legal are multiples of 16");
  replace(bytes, ReplacedField::box_dim, 0, 16);
  EXPECT_EQ(wrong_with(bytes), "");
}

// What no encoder writes, a load ignores: CUTLASS clears bit 21 of word 1.
TEST(EncodedTensorMap, IgnoresWhatNoEncoderWrites) {
  const TensorMapBytes right = encode(tile_map());
  const auto same = [](const TensorMapFields& a, const TensorMapFields& b) { return encode(a) == encode(b); };
  int ignored = 0;
  for (uint16_t bit = 0; bit < 1024; ++bit) {
    TensorMapBytes changed = right;
    put(changed, {bit, 1}, 0, get(right, {bit, 1}) ^ 1);
    ignored += same(decode(changed), decode(right));
  }
  // Word 1: 1-3, 19-31 with bit 22. Word 3: 48-63. Word 6: 47-55. Word 7: 32-63. Words 8-15.
  EXPECT_EQ(ignored, 3 + 13 + 16 + 9 + 32 + 8 * 64);
  TensorMapBytes cutlass = right;
  put(cutlass, {64 + 21, 1}, 0, 0);
  EXPECT_EQ(cutlass, right) << "the driver leaves it clear";
}

TEST(EncodedTensorMap, SaysWhichFieldIsWrong) {
  struct Case {
    std::function<void(TensorMapFields&)> change;
    const char* message;
  };
  const Case tiles[] = {
      {[](TensorMapFields& m) { m.rank = 6; }, "its rank is 6: a tensor has 1 to 5 dimensions"},
      {[](TensorMapFields& m) { m.rank = 8; }, "its rank is 8: a tensor has 1 to 5 dimensions"},
      {[](TensorMapFields& m) { m.interleave = static_cast<TensorInterleave>(3); },
       "its interleave is 3: legal are 0 (none), 1 (16B) and 2 (32B)"},
      {[](TensorMapFields& m) {
         m.rank = 2;
         m.interleave = TensorInterleave::b16;
       },
       "an interleaved tensor has 3 dimensions or more, not 2"},
      {[](TensorMapFields& m) {
         m.interleave = TensorInterleave::b32;
         m.strides_bytes[1] = 48;
       },
       "strides_bytes[1] is 48: legal are multiples of 32 below 2^40"},
      {[](TensorMapFields& m) { m.box[0] = 9; }, "box[0] takes 18 bytes: legal are multiples of 16"},
      {[](TensorMapFields& m) {
         m.swizzle = TensorSwizzle::b32;
         m.box[0] = 32;
       },
       "box[0] takes 64 bytes, more than the 32 of the swizzle"},
      {[](TensorMapFields& m) {
         m.type = TensorType::u16;
         m.oob_fill = TensorFill::nan;
       },
       "oob_fill nan needs a floating-point type, not u16"},
      {[](TensorMapFields& m) { m.address = 8; }, "the tensor's address 0x8 is not a multiple of 16"},
  };
  for (const Case& c : tiles) {
    TensorMapFields map = encoded(tile_map());
    c.change(map);
    EXPECT_EQ(wrong_with(encode(map)), c.message);
  }
  const Case images[] = {
      {[](TensorMapFields& m) { m.upper[1] = -8; },
       "the bounding box has no pixels in spatial dimension 1: it reaches from -1 to 7 + -8 (in 32 bits)"},
      {[](TensorMapFields& m) { m.rank = 2; }, "an im2col tensor has 3 to 5 dimensions, not 2"},
      {[](TensorMapFields& m) { m.channels = 12; },
       "channels_per_pixel takes 24 bytes: legal are multiples of 16"},
  };
  for (const Case& c : images) {
    TensorMapFields map = encoded(image_map());
    c.change(map);
    EXPECT_EQ(wrong_with(encode(map)), c.message);
  }
}

// tensormap.replace leaves the bit of tf32 when it puts in another type (measured on an H200), and a load
// takes that bit with f32 and f32_ftz alone.
TEST(EncodedTensorMap, KeepsTheBitOfTf32) {
  TensorMapBytes bytes = encode(tile_map());
  replace(bytes, ReplacedField::elemtype, 0, 11);
  EXPECT_EQ(decode(bytes).type, TensorType::tf32);
  replace(bytes, ReplacedField::elemtype, 0, 8);
  EXPECT_EQ(decode(bytes).type, TensorType::tf32_ftz);
  replace(bytes, ReplacedField::elemtype, 0, 6);
  EXPECT_EQ(wrong_with(bytes),
            "its element type is f16 with the bit of tf32, which f32 and f32_ftz alone take "
            "(tensormap.replace.elemtype sets that bit for tf32 and never clears it)");
}

TEST(TensorMap, EncodesTheLargestDimension) {
  TensorMap map = tile_map();
  map.dims[2] = uint64_t{1} << 32;
  EXPECT_EQ(encoded(map).dims[2], uint64_t{1} << 32);
}

TEST(TensorBox, TileInsideTheTensor) {
  const TensorMap map = tile_map();
  const BoxRequest request{.coordinates = {8, 3, 1}};
  const Elements elements = elements_of(encoded(map), request);
  ASSERT_EQ(elements.size(), 16u * 4 * 2);
  EXPECT_EQ(elements[0], 8u * 2 + 3 * 256 + 4096);
  EXPECT_EQ(elements, expected_tile(map, request));
}

TEST(TensorBox, TileOverEveryEdge) {
  const TensorMap map = tile_map();
  for (const int32_t x : {-24, -16, -8, 0, 56, 64, 1 << 30})
    for (const int32_t y : {-5, -4, -1, 0, 8, 10, INT32_MAX, INT32_MIN})
      for (const int32_t z : {-1, 2}) {
        const BoxRequest request{.coordinates = {x, y, z}};
        EXPECT_EQ(elements_of(encoded(map), request), expected_tile(map, request))
            << x << ", " << y << ", " << z;
      }
}

TEST(TensorBox, ElementStridesRoundUpAndLeaveTheInnermostAlone) {
  TensorMap map = tile_map();
  map.element_strides = {2, 3, 1};
  EXPECT_EQ(box_bytes(encoded(map)), 16u * 2 /* 4 / 3 up */ * 2 * 2);
  for (const int32_t y : {-1, 0, 7, 9}) {
    const BoxRequest request{.coordinates = {0, y, 0}};
    EXPECT_EQ(elements_of(encoded(map), request), expected_tile(map, request)) << y;
  }
}

TEST(TensorBox, RankOneAndFive) {
  const TensorMap line{.type = TensorType::u8, .dims = {100}, .box = {32}};
  const TensorMap five{.type = TensorType::f32,
                       .dims = {8, 3, 3, 3, 3},
                       .strides_bytes = {32, 96, 288, 864},
                       .box = {4, 2, 2, 2, 2}};
  const BoxRequest request{.coordinates = {4, 2, 1, -1, 0}};
  EXPECT_EQ(elements_of(encoded(five), request), expected_tile(five, request));
  const BoxRequest end{.coordinates = {80}};
  EXPECT_EQ(elements_of(encoded(line), end), expected_tile(line, end));
}

// 256^5 elements of 8 bytes.
TEST(TensorBox, TheLargestBoxHasASize) {
  const TensorMap map{.type = TensorType::f64,
                      .dims = {256, 256, 256, 256, 256},
                      .strides_bytes = {2048, 4096, 8192, 16384},
                      .box = {256, 256, 256, 256, 256}};
  // No shared memory has that, so the driver refuses it; a kernel makes it.
  EXPECT_EQ(wrong_with(encode(map)), "");
  EXPECT_EQ(box_bytes(decode(encode(map))), uint64_t{1} << 43);
  EXPECT_EQ(shared_bytes(decode(encode(map))), uint64_t{1} << 43);
}

// Three pixels of 16 bytes; with the 32-byte swizzle the third one may lie where the fourth would.
TEST(TensorBox, ABoxEndsWithALineOfTheSwizzle) {
  TensorMap map = image_map();
  map.interleave = TensorInterleave::b16;
  map.im2col->pixels_per_column = 3;
  for (const auto& [swizzle, bytes] :
       {std::pair{TensorSwizzle::none, 48u}, std::pair{TensorSwizzle::b32, 64u},
        std::pair{TensorSwizzle::b128, 128u}}) {
    map.swizzle = swizzle;
    EXPECT_EQ(box_bytes(encoded(map)), 48u);
    EXPECT_EQ(shared_bytes(encoded(map)), bytes);
  }
}

// A view of rows that end anywhere, as Triton's ragged descriptors make it: two dimensions more, whose
// strides times their coordinates come to a multiple of 2^64, have the hardware cut the box at the end of a
// piece.
TEST(TensorBox, AddressesWrapAt64Bits) {
  constexpr uint64_t kRow = 160;
  constexpr int32_t kBillion = 1 << 30;
  const TensorMap map{.type = TensorType::u16,
                      .dims = {80, kBillion, 0x7fff0000, 0x7fff0000},
                      .strides_bytes = {kRow, kRow, (uint64_t{1} << 35) - kRow},
                      .box = {80, 8, 1, 1}};
  // Rows 42 to 45 of the tensor, of a piece that ends there.
  constexpr int32_t kBegin = 42, kSize = 4;
  const auto runs =
      box_runs(encoded(map), {.coordinates = {0, kBillion - kSize, kBegin + kSize, kBillion}}, BoxUse::load);
  ASSERT_EQ(runs.size(), 8u);
  for (size_t row = 0; row < runs.size(); ++row) {
    EXPECT_EQ(runs[row].inside, row < kSize) << row;
    EXPECT_EQ(runs[row].global_offset, row < kSize ? (kBegin + row) * kRow : 0) << row;
  }
}

// Rows of 77 bytes: loads take 77, stores the 3 that complete the unit too.
TEST(TensorBox, StoresTakeWholeUnits) {
  const TensorMap map{.type = TensorType::u8, .dims = {77, 4}, .strides_bytes = {96}, .box = {48, 1}};
  const BoxRequest request{.coordinates = {48, 2}};
  const auto text = [&](BoxUse use) {
    std::string out;
    for (const BoxRun& run : box_runs(encoded(map), request, use))
      out += std::to_string(run.box_offset) + "+" + std::to_string(run.bytes) +
             (run.past_end ? " past the end at " + std::to_string(run.global_offset)
              : run.inside ? " at " + std::to_string(run.global_offset)
                           : " outside") +
             "; ";
    return out;
  };
  EXPECT_EQ(text(BoxUse::load), "0+29 at 240; 29+19 outside; ");
  EXPECT_EQ(text(BoxUse::store), "0+29 at 240; 29+3 past the end at 269; 32+16 outside; ");
}

// The sizes of packed types: of the elements, and of shared memory.
TEST(TensorBox, PaddingCountsInSharedMemoryAlone) {
  struct Case {
    TensorType type;
    TensorSwizzle swizzle;
    uint32_t row, pitch;
  };
  const Case cases[] = {{TensorType::b4x16, TensorSwizzle::none, 64, 64},
                        {TensorType::b4x16, TensorSwizzle::b128, 64, 128},
                        {TensorType::b4x16_p64, TensorSwizzle::none, 64, 128},
                        {TensorType::b4x16_p64, TensorSwizzle::b128, 64, 128},
                        {TensorType::b6x16_p32, TensorSwizzle::none, 96, 128}};
  for (const Case& c : cases) {
    const TensorMapFields map = encoded(
        {.type = c.type, .dims = {256, 3}, .strides_bytes = {192}, .box = {128, 4}, .swizzle = c.swizzle});
    EXPECT_EQ(row_bytes(map), c.row);
    EXPECT_EQ(row_pitch(map), c.pitch);
    EXPECT_EQ(box_bytes(map), 4 * c.row);
    EXPECT_EQ(shared_bytes(map), 4 * c.pitch);
    const auto runs = box_runs(map, {.coordinates = {128, 2}}, BoxUse::store);
    ASSERT_EQ(runs.size(), 4u);
    EXPECT_TRUE(runs[0].inside && !runs[0].past_end && !runs[1].inside);
    EXPECT_EQ(runs[0].global_offset, 2 * 192 + c.row);
  }
}

// Pixel i of the traversal that begins at (w, h, n): all positions of the bounding box, W first.
TEST(TensorBox, Im2colWalksTheBoundingBox) {
  const TensorMap map = image_map();
  const BoxRequest request{.coordinates = {16, 3, 2, 0}, .im2col_offsets = {2, 1}};
  const Elements elements = elements_of(encoded(map), request);
  Elements expected;
  // Base positions run from -1 to 7 in W and from -1 to 5 in H.
  for (int i = (3 + 1) + 9 * (2 + 1), left = 80; left > 0; ++i, --left) {
    const int w = i % 9 - 1, h = i / 9 % 7 - 1, n = i / 63;
    for (int c = 0; c < 16; ++c)
      expected.push_back(offset_of(map, {16 + c, w + 2, h + 1, n}));
  }
  EXPECT_EQ(elements, expected);
}

TEST(TensorBox, Im2colStepsByElementStrides) {
  TensorMap map = image_map();
  map.element_strides = {1, 2, 3, 1};
  map.im2col->pixels_per_column = 20;
  const BoxRequest request{.coordinates = {0, -1, -1, 0}};
  const Elements elements = elements_of(encoded(map), request);
  Elements expected;
  for (int i = 0; i < 20; ++i) { // W: -1, 1, 3, 5, 7; H: -1, 2, 5
    const int w = i % 5 * 2 - 1, h = i / 5 % 3 * 3 - 1, n = i / 15;
    for (int c = 0; c < 16; ++c)
      expected.push_back(offset_of(map, {c, w, h, n}));
  }
  EXPECT_EQ(elements, expected);
}

// What an H200 brought, as numbers of 16-byte chunks in global memory (-1: outside): pixels, then rows, then
// the one slice of channels, then images.
TEST(TensorBox, InterleavedBoxesHaveOneSliceOfChannels) {
  const auto chunks = [](TensorInterleave interleave, std::vector<uint64_t> dims, std::vector<uint32_t> box,
                         std::vector<uint32_t> steps, std::array<int32_t, kMaxTensorRank> at) {
    std::vector<uint64_t> strides{512, 4096, 16384};
    strides.resize(dims.size() - 1);
    const TensorMapFields map = encoded({.type = TensorType::u32,
                                         .dims = std::move(dims),
                                         .strides_bytes = strides,
                                         .box = std::move(box),
                                         .element_strides = std::move(steps),
                                         .interleave = interleave,
                                         .swizzle = TensorSwizzle::b32});
    std::vector<int> out;
    uint32_t bytes = 0;
    for (const BoxRun& run : box_runs(map, {.coordinates = at}, BoxUse::load)) {
      EXPECT_EQ(run.box_offset, bytes);
      for (uint32_t i = 0; i < run.bytes; i += 16)
        out.push_back(run.inside ? static_cast<int>((run.global_offset + i) / 16) : -1);
      bytes += run.bytes;
    }
    EXPECT_EQ(box_bytes(map), bytes);
    EXPECT_EQ(shared_bytes(map), bytes); // dense under the swizzle
    return out;
  };
  using Chunks = std::vector<int>;
  constexpr auto b16 = TensorInterleave::b16, b32 = TensorInterleave::b32;
  EXPECT_EQ(chunks(b16, {8, 6, 3}, {4, 3, 2}, {1, 1, 1}, {1, 1, 1}),
            (Chunks{289, 290, 291, 292, 545, 546, 547, 548}));
  EXPECT_EQ(chunks(b16, {8, 6, 3}, {4, 3, 2}, {1, 1, 1}, {6, 4, 2}),
            (Chunks{646, 647, -1, -1, -1, -1, -1, -1}));
  EXPECT_EQ(chunks(b16, {8, 6, 3}, {4, 3, 2}, {2, 1, 1}, {0, 0, 0}), (Chunks{0, 2, 256, 258}));
  EXPECT_EQ(chunks(b16, {8, 6, 3, 2}, {4, 2, 2, 2}, {1, 1, 1, 1}, {1, 2, 0, 0}),
            (Chunks{65, 66, 67, 68, 97, 98, 99, 100, 1089, 1090, 1091, 1092, 1121, 1122, 1123, 1124}));
  EXPECT_EQ(chunks(b32, {8, 6, 3}, {4, 1, 2}, {1, 1, 1}, {0, 0, 0}),
            (Chunks{0, 1, 2, 3, 4, 5, 6, 7, 256, 257, 258, 259, 260, 261, 262, 263}));
  EXPECT_EQ(chunks(b32, {8, 6, 3, 2}, {4, 8, 3, 1}, {1, 2, 1, 1}, {0, 0, 0, 0}),
            (Chunks{0,   1,   2,   3,   4,   5,   6,   7,   64, 65, 66, 67, 68, 69, 70, 71,
                    128, 129, 130, 131, 132, 133, 134, 135, -1, -1, -1, -1, -1, -1, -1, -1}));
}

// LEMMA_FORGED_MAPS=1000000 for more, under sanitizers.
size_t forged_maps() {
  const char* count = std::getenv("LEMMA_FORGED_MAPS");
  return count ? std::strtoull(count, nullptr, 10) : 3000;
}

// Any 128 bytes are refused, or have boxes whose runs cover them; right maps with a few bytes changed, and
// random ones.
TEST(TensorBox, OfAnyBytesEnds) {
  numeric::Random random(5);
  size_t right = 0;
  for (size_t i = 0, count = forged_maps(); i < count; ++i) {
    TensorMapBytes bytes = encode(random.below(2) ? tile_map() : image_map());
    const bool all = random.below(4) == 0;
    for (uint64_t left = all ? bytes.size() : 1 + random.below(4); left > 0; --left)
      bytes[all ? left - 1 : random.below(64)] = static_cast<std::byte>(random.next());
    const TensorMapFields map = decode(bytes);
    EXPECT_TRUE(map.type == TensorMapFields::kNoType || encode(decode(encode(map))) == encode(map));
    if (!wrong_with(bytes).empty())
      continue;
    ++right;
    ASSERT_LE(map.rank, kMaxTensorRank);
    BoxRequest request;
    for (int32_t& at : request.coordinates)
      at = static_cast<int32_t>(random.below(2) ? random.below(64) : random.next());
    for (uint16_t& offset : request.im2col_offsets)
      offset = static_cast<uint16_t>(random.next());
    if (is_packed(map.type)) // as the handler asks
      request.coordinates[0] = 0;
    if (shared_bytes(map) > 228 << 10)
      continue;
    for (const BoxUse use : {BoxUse::load, BoxUse::store}) {
      uint64_t bytes_of_runs = 0;
      for (const BoxRun& run : box_runs(map, request, use)) {
        ASSERT_EQ(run.box_offset, bytes_of_runs);
        bytes_of_runs += run.bytes;
      }
      ASSERT_EQ(bytes_of_runs, box_bytes(map));
    }
  }
  EXPECT_GE(right, forged_maps() / 10);
}

} // namespace
} // namespace lemma::layout
