// The committed images, and what is done to bytes in tests.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace lemma::image {

using Contents = std::vector<std::byte>;

// LEMMA_TEST_IMAGES: a folder that has others, just made.
inline Contents image_file(const std::string& name) {
  const char* const made = std::getenv("LEMMA_TEST_IMAGES");
  std::ifstream in(std::string(made ? made : IMAGES) + "/" + name, std::ios::binary);
  EXPECT_TRUE(in) << name;
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  Contents bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

// Overwrites a number in place.
template <class T>
void put(Contents& bytes, size_t offset, T value) {
  ASSERT_LE(offset + sizeof value, bytes.size());
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

} // namespace lemma::image
