// Tensor maps against what an H200 and its driver made of them: every recorded parameter set and edit, byte
// for byte. tests/golden/tensor_maps/README.md says what the files hold.
#include "cases.h"

#include "layout/tensor_map.h"

#include <gtest/gtest.h>
#include <zstd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

namespace lemma::tensor_maps {
namespace {

std::vector<std::byte> unpacked(const std::string& name) {
  std::ifstream file(std::string(LEMMA_RECORDED "/") + name + ".bin.zst", std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(file), {}};
  const unsigned long long size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > 1 << 24) // an error code too
    return {};
  std::vector<std::byte> bytes(size);
  EXPECT_EQ(ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()), size);
  return bytes;
}

struct Encoded {
  uint32_t status; // CUresult
  Bytes bytes;     // zeros where the driver refused
};
static_assert(sizeof(Encoded) == 132);

template <class T>
std::vector<T> recorded(const std::string& name) {
  const std::vector<std::byte> bytes = unpacked(name);
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), all.size() * sizeof(T));
  return all;
}

// "word 6: 0x3f00000000000000, and not 0x3f00000100000000"
std::string difference(const Bytes& got, const Bytes& want) {
  std::ostringstream text;
  for (size_t word = 0; word < 16; ++word) {
    uint64_t a, b;
    std::memcpy(&a, got.data() + 8 * word, 8);
    std::memcpy(&b, want.data() + 8 * word, 8);
    if (a != b)
      text << "word " << word << ": 0x" << std::hex << a << ", and not 0x" << b << std::dec << "; ";
  }
  return text.str();
}

// Types of 4 and 6 bits, and swizzles with atoms of more than 16 bytes: the driver of an H200 refuses them.
bool is_of_sm_100(const TensorMap& map) {
  return (map.type >= TensorType::b4x16 && map.type <= TensorType::b6x16_p32) ||
         (layout::has_atoms(map.swizzle) && map.swizzle <= TensorSwizzle::b128_atom_64b);
}

TEST(RecordedMaps, AreEncodedByteForByte) {
  const std::vector<TensorMap> cases = encode_cases();
  const auto hardware = recorded<Encoded>("encoded");
  ASSERT_EQ(hardware.size(), cases.size());
  int encoded = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (hardware[i].status != 0)
      continue;
    ++encoded;
    ASSERT_EQ(difference(layout::encode(cases[i]), hardware[i].bytes), "") << "case " << i;
    ASSERT_EQ(layout::wrong_with(hardware[i].bytes), "") << "case " << i;
  }
  EXPECT_GE(encoded, 5000);
}

TEST(RecordedMaps, AreRefusedWhereTheDriverRefuses) {
  const std::vector<TensorMap> cases = encode_cases();
  const auto hardware = recorded<Encoded>("encoded");
  ASSERT_EQ(hardware.size(), cases.size());
  int refused = 0, newer = 0;
  for (size_t i = 0; i < cases.size(); ++i) {
    if (is_of_sm_100(cases[i])) {
      EXPECT_NE(hardware[i].status, 0u) << "case " << i;
      ++newer;
      continue;
    }
    const std::string wrong = layout::wrong_with(cases[i]);
    refused += !wrong.empty();
    EXPECT_EQ(wrong.empty(), hardware[i].status == 0) << "case " << i << ": " << wrong;
  }
  EXPECT_GE(refused, 1000);
  EXPECT_GE(newer, 100);
}

// cuTensorMapEncodeIm2colWide, whose two modes write the same.
TEST(RecordedMaps, OfImagesThatAreWideHaveOneCorner) {
  const auto hardware = recorded<Encoded>("wide");
  size_t next = 0, encoded = 0;
  for (TensorMap map : encode_cases()) {
    if (!map.im2col || map.im2col->lower.empty())
      continue;
    std::fill(map.im2col->lower.begin() + 1, map.im2col->lower.end(), 0);
    std::fill(map.im2col->upper.begin() + 1, map.im2col->upper.end(), 0);
    for (int mode = 0; mode < 2; ++mode, ++next) {
      ASSERT_LT(next, hardware.size());
      EXPECT_TRUE(is_of_sm_100(map) || layout::wrong_with(map).empty() == (hardware[next].status == 0))
          << "number " << next << ": " << layout::wrong_with(map);
      if (hardware[next].status != 0)
        continue;
      ++encoded;
      ASSERT_EQ(difference(layout::encode(map), hardware[next].bytes), "") << "number " << next;
    }
  }
  EXPECT_EQ(next, hardware.size());
  EXPECT_GE(encoded, 3000u);
}

layout::ReplacedField field_of(const std::string& name) {
  using enum layout::ReplacedField;
  const std::map<std::string, layout::ReplacedField> fields = {{"global_address", global_address},
                                                               {"rank", rank},
                                                               {"box_dim", box_dim},
                                                               {"global_dim", global_dim},
                                                               {"global_stride", global_stride},
                                                               {"element_stride", element_stride},
                                                               {"elemtype", elemtype},
                                                               {"interleave_layout", interleave_layout},
                                                               {"swizzle_mode", swizzle_mode},
                                                               {"fill_mode", fill_mode}};
  return fields.at(name);
}

TEST(RecordedMaps, AreEditedByteForByte) {
  const auto encoded = recorded<Encoded>("encoded");
  const auto hardware = recorded<Bytes>("edited");
  const std::vector<Edit> all = edits();
  ASSERT_GE(all.size(), 2000u);
  ASSERT_EQ(hardware.size(), all.size());
  Bytes map{};
  for (size_t i = 0; i < all.size(); ++i) {
    map = base_of(all[i], map, encoded);
    const Replacement& replacement = kReplacements[all[i].replacement];
    layout::replace(map, field_of(replacement.field), static_cast<size_t>(std::max(replacement.ordinal, 0)),
                    all[i].value);
    ASSERT_EQ(difference(map, hardware[i]), "")
        << "edit " << i << ": " << text_of(replacement, static_cast<int>(all[i].value), all[i].shared) << ' '
        << all[i].value;
  }
}

// The fifth stride, which ptxas takes and no tensor has: an H200 wrote these bytes 28 to 31 for these values,
// in zeros.
TEST(RecordedMaps, HaveAFifthStrideWhereTheHighBitsAre) {
  const std::pair<uint64_t, uint32_t> cases[] = {
      {0x10, 0x00000001}, {0x123456780, 0x12305678}, {0xabcdef0120, 0xbcdaf012}, {~uint64_t{0}, 0xffffffff}};
  for (const auto& [stride, word] : cases) {
    Bytes map{};
    layout::replace(map, layout::ReplacedField::global_stride, 4, stride);
    uint32_t got;
    std::memcpy(&got, map.data() + 28, 4);
    EXPECT_EQ(got, word) << stride;
  }
}

} // namespace
} // namespace lemma::tensor_maps
