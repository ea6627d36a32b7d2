// Tensor maps: the rules that are checked, the bytes, and which elements a box has, next to what the ISA's
// definitions give element by element.
#include "layout/tensor_box.h"
#include "layout/tensor_map.h"

#include <gtest/gtest.h>

#include <cstring>
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

EncodedTensorMap encoded(const TensorMap& map) {
  EXPECT_EQ(wrong_with(map), "");
  const auto bytes = encode(map);
  EncodedTensorMap result;
  std::memcpy(&result, bytes.data(), sizeof result);
  return result;
}

// The offset in the tensor of each element of the box, in the order of shared memory; none: outside.
using Elements = std::vector<std::optional<uint64_t>>;

Elements elements_of(const EncodedTensorMap& map, const BoxRequest& request) {
  const uint32_t size = element_bytes(map.type);
  Elements elements;
  for (const BoxRun& run : box_runs(map, request)) {
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
      {[](TensorMap& m) {
         m.interleave = TensorInterleave::b32;
         m.swizzle = TensorSwizzle::b64;
       },
       "interleave 32B needs swizzle 32B"},
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

TEST(TensorMap, EncodesTheLargestDimension) {
  TensorMap map = tile_map();
  map.dims[2] = uint64_t{1} << 32;
  EXPECT_EQ(encoded(map).dim(2), uint64_t{1} << 32);
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
    const EncodedTensorMap map = encoded({.type = TensorType::u32,
                                          .dims = std::move(dims),
                                          .strides_bytes = strides,
                                          .box = std::move(box),
                                          .element_strides = std::move(steps),
                                          .interleave = interleave,
                                          .swizzle = TensorSwizzle::b32});
    std::vector<int> out;
    uint32_t bytes = 0;
    for (const BoxRun& run : box_runs(map, {.coordinates = at})) {
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

} // namespace
} // namespace lemma::layout
