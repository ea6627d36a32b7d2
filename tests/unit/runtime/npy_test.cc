// .npy files: what NumPy writes is read, what is written NumPy reads (tests/cli does that), the rest is
// refused with a reason. include/lemma/npy.h.
#include "lemma/npy.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace lemma::npy {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// A file with this header and `data_bytes` zeros. Header lengths are little-endian: 2 bytes in version 1,
// else 4.
std::vector<std::byte> file_with(const std::string& header, size_t data_bytes, int version = 1) {
  std::string text = "\x93NUMPY";
  text += static_cast<char>(version);
  text += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += static_cast<char>(header.size() >> (8 * i));
  return bytes_of(text + header + std::string(data_bytes, '\0'));
}

std::string dict(const std::string& descr, const std::string& order, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

std::string why(const std::vector<std::byte>& file) {
  const auto array = parse(file);
  return array ? "accepted" : array.error().text;
}

TEST(Npy, ReadsWhatNumpyWrites) {
  for (const int version : {1, 2, 3}) {
    const auto array = parse(file_with(dict("<f4", "False", "(2, 3)"), 24, version));
    ASSERT_TRUE(array) << array.error().text;
    EXPECT_EQ(array->dtype, "<f4");
    EXPECT_EQ(array->shape, (std::vector<uint64_t>{2, 3}));
    EXPECT_EQ(array->data.size(), 24u);
  }
}

TEST(Npy, ReadsScalarsVectorsAndEmptyArrays) {
  EXPECT_EQ(why(file_with(dict("<f8", "False", "()"), 8)), "accepted");
  EXPECT_EQ(why(file_with(dict("|u1", "False", "(5,)"), 5)), "accepted");
  EXPECT_EQ(why(file_with(dict("<i2", "False", "(0, 7)"), 0)), "accepted");
  EXPECT_EQ(why(file_with(dict("<f4", "True", "(6,)"), 24)),
            "accepted"); // one dimension: both orders are one
}

TEST(Npy, ReadsHalfAndBfloat16) {
  EXPECT_EQ(why(file_with(dict("<f2", "False", "(4,)"), 8)), "accepted");
  EXPECT_EQ(why(file_with(dict("|V2", "False", "(4,)"), 8)), "accepted");
  EXPECT_EQ(why(file_with(dict("<V2", "False", "(4,)"), 8)), "accepted");
}

TEST(Npy, RefusesWhatItWouldMisread) {
  EXPECT_NE(why(file_with(dict("<f4", "True", "(2, 3)"), 24)).find("Fortran"), std::string::npos);
  EXPECT_NE(why(file_with(dict(">f4", "False", "(2,)"), 8)).find("'>f4'"), std::string::npos);
  EXPECT_NE(why(file_with(dict("|O", "False", "(2,)"), 16)).find("'|O'"), std::string::npos);
  EXPECT_NE(why(file_with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }\n", 4))
                .find("structured"),
            std::string::npos);
}

TEST(Npy, RefusesBrokenFiles) {
  const std::vector<std::byte> good = file_with(dict("<f4", "False", "(2, 3)"), 24);
  for (size_t length = 0; length < good.size(); ++length)
    EXPECT_FALSE(parse(std::span(good).first(length))) << length;
  EXPECT_NE(why(file_with(dict("<f4", "False", "(2, 3)"), 25)).find("25 bytes"), std::string::npos);
  EXPECT_NE(why(file_with("{'descr': '<f4', 'shape': (1,), }\n", 4)).find("lacks"), std::string::npos);
  EXPECT_NE(why(file_with("{'color': '<f4'}\n", 4)).find("'color'"), std::string::npos);
  EXPECT_NE(why(file_with(dict("<f4", "False", "(4611686018427387904, 8)"), 0)).find("too many"),
            std::string::npos);
  EXPECT_NE(why(file_with(dict("<f4", "False", "(-1,)"), 0)).find("shape"), std::string::npos);
  EXPECT_NE(why(file_with(dict("<f4", "Maybe", "(1,)"), 4)).find("True"), std::string::npos);
}

TEST(Npy, WritesWhatItReads) {
  for (const std::vector<uint64_t>& shape : {std::vector<uint64_t>{}, {3}, {2, 5}, {1, 2, 3, 4}}) {
    Array array{.dtype = "<f2", .shape = shape, .data = std::vector<std::byte>(2 * element_count(shape))};
    for (size_t i = 0; i < array.data.size(); ++i)
      array.data[i] = static_cast<std::byte>(i);
    const std::vector<std::byte> file = serialize(array);
    EXPECT_EQ((file.size() - array.data.size()) % 64, 0u);
    const auto again = parse(file);
    ASSERT_TRUE(again) << again.error().text;
    EXPECT_EQ(again->dtype, array.dtype);
    EXPECT_EQ(again->shape, array.shape);
    EXPECT_EQ(again->data, array.data);
  }
}

TEST(Npy, WritesLongHeadersAsVersion2) {
  const Array array{
      .dtype = "|u1", .shape = std::vector<uint64_t>(40000, 1), .data = std::vector<std::byte>(1)};
  const std::vector<std::byte> file = serialize(array);
  EXPECT_EQ(std::to_integer<int>(file[6]), 2);
  const auto again = parse(file);
  ASSERT_TRUE(again) << again.error().text;
  EXPECT_EQ(again->shape.size(), 40000u);
}

} // namespace
} // namespace lemma::npy
