// Boxes of .im2col::w and .im2col::w::128, pixel by pixel. No hardware that has these modes has been
// measured: what is expected is the ISA's text ("im2col::w and im2col::w::128 modes"), whose examples are
// here, and beyond the bounding box what tensor_box.h says.
#include "layout/tensor_box.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace lemma::layout {
namespace {

constexpr WideRows kWide128{.groups = 4, .pixels = 32, .halo = 2};

// Images of f16 with 64 channels.
TensorMap images(std::vector<uint64_t> spatial, int32_t lower, int32_t upper, uint32_t step = 1) {
  TensorMap map{.type = TensorType::f16, .address = 0x1000, .dims = {64}, .swizzle = TensorSwizzle::b128};
  uint64_t stride = 128;
  for (const uint64_t size : spatial) {
    map.dims.push_back(size);
    map.strides_bytes.push_back(stride);
    stride *= size;
  }
  map.element_strides.assign(map.dims.size(), step);
  const size_t corners = spatial.size() - 1;
  map.im2col = TensorIm2col{.lower = std::vector<int32_t>(corners, 0),
                            .upper = std::vector<int32_t>(corners, 0),
                            .channels_per_pixel = 64,
                            .pixels_per_column = 128};
  map.im2col->lower[0] = lower;
  map.im2col->upper[0] = upper;
  return map;
}

struct Pixel {
  int64_t w = 0, n = 0; // H and D are the request's
};

// The box has these pixels, with all their channels.
void expect(const TensorMap& map, const BoxRequest& request, const std::vector<Pixel>& pixels) {
  ASSERT_EQ(wrong_with(map), "");
  const TensorMapFields fields = map_of_wide(decode(encode(map)), request.wide);
  EXPECT_EQ(box_bytes(fields), pixels.size() * 128);
  const std::vector<BoxRun> runs = box_runs(fields, request, BoxUse::load);
  ASSERT_EQ(runs.size(), pixels.size());
  const size_t batch = map.dims.size() - 1;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::vector<int64_t> at(request.coordinates.begin(), request.coordinates.begin() + batch + 1);
    at[1] = pixels[i].w;
    at[batch] = pixels[i].n;
    uint64_t offset = 0;
    bool inside = true;
    for (size_t d = 1; d <= batch; ++d) {
      inside &= at[d] >= 0 && at[d] < static_cast<int64_t>(map.dims[d]);
      offset += static_cast<uint64_t>(at[d]) * map.strides_bytes[d - 1];
    }
    EXPECT_EQ(runs[i].box_offset, i * 128);
    ASSERT_EQ(runs[i].inside, inside) << i;
    if (inside) {
      ASSERT_EQ(runs[i].global_offset, offset) << "pixel " << i;
    }
  }
}

BoxRequest at(std::array<int32_t, kMaxTensorRank> coordinates, WideRows wide, uint16_t offset = 0) {
  return {.coordinates = coordinates, .im2col_offsets = {offset}, .wide = wide};
}

bool leaves(const TensorMap& map, const BoxRequest& request) {
  return halo_leaves_box(map_of_wide(decode(encode(map)), request.wide), request);
}

// From W = 2 of images 9 wide; the last of 128 pixels is the fourth of its row, and two follow.
TEST(WideBox, HasItsHaloAfterTheLastPixel) {
  const TensorMap map = images({9, 7, 64}, 0, 0);
  std::vector<Pixel> pixels;
  for (int64_t i = 2; i < 130; ++i)
    pixels.push_back({i % 9, i / 9});
  pixels.insert(pixels.end(), {{4, 14}, {5, 14}});
  const BoxRequest request = at({0, 2, 3, 0}, {.groups = 1, .pixels = 128, .halo = 2});
  expect(map, request, pixels);
  EXPECT_FALSE(leaves(map, request));
}

// What comes after a halo is what would come without it; two of the four end with a row of an image.
TEST(WideBox, Of128HasAHaloAfterEach32) {
  const TensorMap map = images({9, 7, 64}, 0, 0);
  std::vector<Pixel> pixels;
  for (int64_t i = 2; i < 130; ++i) {
    pixels.push_back({i % 9, i / 9});
    if ((i - 1) % 32 == 0)
      pixels.insert(pixels.end(), {{i % 9 + 1, i / 9}, {i % 9 + 2, i / 9}});
  }
  ASSERT_EQ(pixels.size(), 136u);
  expect(map, at({0, 2, 3, 0}, kWide128), pixels);
  EXPECT_TRUE(leaves(map, at({0, 2, 3, 0}, kWide128)));
  EXPECT_FALSE(leaves(images({256, 7, 64}, 0, 0), at({0, 2, 3, 0}, kWide128)));
}

// Every second pixel: one buffer begins with the left border, the other has what lies between.
TEST(WideBox, StepsAndIsMovedByTheOffset) {
  const TensorMap map = images({9, 67, 64}, -1, 0, 2);
  std::vector<Pixel> first, second;
  for (int64_t i = 0; i < 128; ++i) {
    first.push_back({i % 5 * 2 - 1, i / 5});
    second.push_back({i % 5 * 2, i / 5});
  }
  first.push_back({5, 25});
  expect(map, at({0, -1, 2, 0}, {.groups = 1, .pixels = 128, .halo = 1}), first);
  expect(map, at({0, -1, 2, 0}, {.groups = 1, .pixels = 128}, 1), second);
}

TEST(WideBox, IsMovedByEachOffsetOfAFilter) {
  const TensorMap map = images({7, 7, 64}, -1, -1, 3);
  for (uint16_t offset = 0; offset < 3; ++offset) {
    std::vector<Pixel> pixels;
    for (int64_t i = 0; i < 128; ++i)
      pixels.push_back({i % 3 * 3 - 1 + offset, i / 3}); // -1, 2, 5
    expect(map, at({0, -1, 2, 0}, {.groups = 1, .pixels = 128}, offset), pixels);
  }
}

// Which begins again at its lower corner.
TEST(WideBox, MayBeginOnTheLeftOfTheBoundingBox) {
  std::vector<Pixel> pixels{{-2, 1}, {-1, 1}, {0, 1}};
  for (int64_t i = 0; i < 13; ++i)
    pixels.push_back({1 + i % 7, 1 + i / 7});
  const TensorMap map = images({9, 7, 64}, 1, -1);
  expect(map, at({0, -2, 3, 1}, {.groups = 1, .pixels = 16}), pixels);
}

// The pixels on the right of it in the image, and on the right of the image none.
TEST(WideBox, HasAHaloBeyondTheBoundingBox) {
  const TensorMap map = images({9, 7, 64}, 0, -1);
  const BoxRequest request = at({0, 0, 3, 0}, {.groups = 2, .pixels = 8, .halo = 2});
  std::vector<Pixel> pixels;
  for (int64_t n = 0; n < 2; ++n)
    for (int64_t w = 0; w < 10; ++w)
      pixels.push_back({w, n});
  expect(map, request, pixels);
  EXPECT_TRUE(leaves(map, request));
  EXPECT_FALSE(leaves(map, at({0, 0, 3, 0}, {.groups = 2, .pixels = 8})));
}

// D stays too, and what is outside of the tensor there is outside all along.
TEST(WideBox, StaysWhereItIsInHAndD) {
  const TensorMap map = images({4, 3, 5, 8}, 0, 0);
  std::vector<Pixel> pixels;
  for (int64_t i = 0; i < 20; ++i)
    pixels.push_back({i % 4, 6 + i / 4});
  for (const int32_t h : {-1, 2, 3})
    for (const int32_t d : {-1, 0, 5})
      expect(map, at({0, 0, h, d, 6}, {.groups = 1, .pixels = 20}), pixels);
}

} // namespace
} // namespace lemma::layout
