// Matrices of small integers for the tests of tcgen05, which every type has exactly, as they lie in shared
// memory: each layout is stated here byte by byte.
//
// Tests: tensor_mma_test.cc, tensor_pair_test.cc, tensor_ws_test.cc, tensor_shift_test.cc.
#pragma once

#include "numeric/format.h"

#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace lemma::vgpu {

using numeric::FloatFormat;

enum class Layout { k_none, k_32, k_64, k_128, mn_none, mn_128 };

struct Element {
  std::string_view kind = "f16";
  uint32_t code = 0;  // in the instruction descriptor
  uint32_t bytes = 2; // of a container
  int bits = 16;
  FloatFormat format = FloatFormat::f16;
  bool is_integer = false;
};

inline const Element kF16{}, kBf16{.code = 1, .format = FloatFormat::bf16},
    kTf32{.kind = "tf32", .code = 2, .bytes = 4, .bits = 32, .format = FloatFormat::f32},
    kE4m3{.kind = "f8f6f4", .code = 0, .bytes = 1, .bits = 8, .format = FloatFormat::e4m3},
    kE5m2{.kind = "f8f6f4", .code = 1, .bytes = 1, .bits = 8, .format = FloatFormat::e5m2},
    kE2m3{.kind = "f8f6f4", .code = 3, .bytes = 1, .bits = 6, .format = FloatFormat::e2m3},
    kE3m2{.kind = "f8f6f4", .code = 4, .bytes = 1, .bits = 6, .format = FloatFormat::e3m2},
    kE2m1{.kind = "f8f6f4", .code = 5, .bytes = 1, .bits = 4, .format = FloatFormat::e2m1},
    kU8{.kind = "i8", .code = 0, .bytes = 1, .bits = 8, .is_integer = true},
    kS8{.kind = "i8", .code = 1, .bytes = 1, .bits = 8, .is_integer = true};

// -1, 0 or 1 and now and then 2, which every type has; of u8 without the sign.
inline int value(uint32_t matrix, uint32_t row, uint32_t k, bool is_signed) {
  const uint32_t random = (row * 31 + k * 17 + matrix * 7) * 2654435761u >> 28;
  const int absolute = random % 8 == 0 ? 2 : static_cast<int>(random % 2);
  return is_signed && random / 8 != 0 ? -absolute : absolute;
}

inline uint64_t encode(FloatFormat format, int number) {
  return number == 0 ? numeric::encode_zero(format, false)
                     : numeric::encode(
                           format, numeric::Exact{.sign = number < 0,
                                                  .significand = static_cast<unsigned>(std::abs(number))});
}

inline uint32_t bits_of(const Element& element, int number) {
  if (element.is_integer)
    return static_cast<uint8_t>(number);
  return static_cast<uint32_t>(encode(element.format, number));
}

struct Operand {
  Element element;
  Layout layout = Layout::k_none;
  uint32_t rows = 128;
  uint32_t matrix = 0;    // 0: A
  uint32_t k_bytes = 32;  // of a row
  uint32_t first_row = 0; // of the numbers: those before lie in another CTA

  uint32_t k() const { return k_bytes / element.bytes; }
  bool mn_major() const { return layout == Layout::mn_none || layout == Layout::mn_128; }
  int at(uint32_t row, uint32_t k) const {
    return value(matrix, first_row + row, k, element.code != 0 || !element.is_integer);
  }

  // Byte of element (row, k), 0 to 15 of its chunk of packed ones included, from the matrix's begin.
  uint32_t byte_of(uint32_t row, uint32_t k) const {
    const uint32_t in_chunk = 16 / element.bytes, b = element.bytes;
    const auto swizzled = [](uint32_t linear, uint32_t lines) {
      return linear ^ ((linear >> 7 & lines) << 4);
    };
    switch (layout) {
    case Layout::k_none: // core matrices of 8 rows, those of K one after the other
      return row / 8 * 8 * k_bytes + k / in_chunk * 128 + row % 8 * 16 + k % in_chunk * b;
    case Layout::k_32:
      return swizzled(row * 32 + k * b, 1);
    case Layout::k_64:
      return swizzled(row * 64 + k * b, 3);
    case Layout::k_128:
      return swizzled(row * 128 + k * b, 7);
    case Layout::mn_none: // 8 steps of K of a chunk of rows; those of one chunk after the other
      return row / in_chunk * 16 * this->k() + k / 8 * 128 + k % 8 * 16 + row % in_chunk * b;
    case Layout::mn_128:
      return swizzled(row * b / 128 * 128 * this->k() + k * 128 + row * b % 128, 7);
    }
    return 0;
  }
  // Offsets and swizzle of the descriptor, version 1.
  uint64_t descriptor_bits() const {
    const auto bits = [](uint64_t leading, uint64_t stride, uint64_t swizzle) {
      return leading / 16 << 16 | stride / 16 << 32 | uint64_t{1} << 46 | swizzle << 61;
    };
    switch (layout) {
    case Layout::k_none:
      return bits(128, 8 * k_bytes, 0);
    case Layout::k_32:
      return bits(16, 256, 6);
    case Layout::k_64:
      return bits(16, 512, 4);
    case Layout::k_128:
      return bits(16, 1024, 2);
    case Layout::mn_none:
      return bits(128, 16 * k(), 0);
    case Layout::mn_128:
      return bits(128 * k(), 1024, 2);
    }
    return 0;
  }
  std::vector<std::byte> image() const {
    std::vector<std::byte> bytes(32768);
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t i = 0; i < k(); ++i) {
        const uint32_t number = bits_of(element, at(row, i));
        if (element.bits >= 8) {
          std::memcpy(&bytes[byte_of(row, i)], &number, element.bytes);
          continue;
        }
        // 16 elements from the begin of a chunk of 16 bytes; padding after them.
        const uint32_t chunk = byte_of(row, i / 16 * 16), bit = i % 16 * static_cast<uint32_t>(element.bits);
        for (uint32_t j = 0; j < static_cast<uint32_t>(element.bits); ++j)
          bytes[chunk + (bit + j) / 8] |= static_cast<std::byte>((number >> j & 1) << (bit + j) % 8);
      }
    return bytes;
  }
};

} // namespace lemma::vgpu
