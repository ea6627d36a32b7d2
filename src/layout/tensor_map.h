// The rules of tensor maps, and the 128 bytes that a kernel gets.
//
// The hardware's 128 bytes are opaque, so these are our own: a magic number, by which garbage is told from a
// map, then fields that tensormap.replace can change one by one. Zeros become a map when every field has been
// replaced, as on the hardware; so a magic number of 0 is taken too. Nothing that the bytes say is believed
// before wrong_with() has seen it: a kernel may write what it likes there.
//
// PTX ISA: "Tensors", "Tensor Map", "tensormap.replace". The rules are those of the driver's
// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col. Tests: tests/unit/layout/tensor_map_test.cc.
#pragma once

#include "layout/swizzle.h"
#include "lemma/tensor_map.h"

#include <array>
#include <cstddef>
#include <string>

namespace lemma::layout {

inline constexpr int kMaxTensorRank = 5;
inline constexpr size_t kTensorMapBytes = 128;
inline constexpr size_t kTensorMapAlign = 64;

uint32_t element_bits(TensorType type);
bool is_floating(TensorType type);
// Elements narrower than a byte.
bool is_packed(TensorType type);
// Of those that are not.
inline uint32_t element_bytes(TensorType type) {
  return element_bits(type) / 8;
}
// Bytes of elements in each chunk of shared memory, at its front: all 16, but of a type that is padded there.
uint32_t chunk_payload_bytes(TensorType type);
// What the innermost coordinate of a packed type is a multiple of: 16 bytes, or a row of a padded type.
uint32_t coordinate_multiple(TensorType packed);

// The first rule that the map breaks, with the values and what is legal; empty: none.
std::string wrong_with(const TensorMap& map);

enum class TensorMode : uint8_t { tile, im2col };

// As it lies in memory. Fields of im2col and of a box share no place, so that `rank` and all others may
// change. A field that is too narrow for a replaced value holds its largest one, which is illegal too.
struct EncodedTensorMap {
  uint64_t magic = kMagic;
  uint64_t address = 0;
  std::array<uint64_t, kMaxTensorRank - 1> strides_bytes{}; // of dimension 1 and up
  std::array<uint64_t, kMaxTensorRank> dims{};
  std::array<uint16_t, kMaxTensorRank> box{};
  std::array<int16_t, 3> lower{}, upper{};
  uint16_t channels = 0, pixels = 0;
  std::array<uint8_t, kMaxTensorRank> element_strides{};
  uint8_t rank = 0;
  TensorType type{};
  TensorInterleave interleave{};
  TensorSwizzle swizzle{};
  TensorFill oob_fill{};
  TensorL2 l2_promotion{};
  TensorMode mode{};
  std::array<uint8_t, 2> unused{};

  static constexpr uint64_t kMagic = 0x70616d2d616d6d65; // "emma-map"
  bool is_im2col() const { return mode == TensorMode::im2col; }
};
static_assert(sizeof(EncodedTensorMap) == kTensorMapBytes);

// Why the bytes are no map that an instruction may use: not a map at all, or the first rule that it breaks,
// with the values and what is legal; empty: they are one.
std::string wrong_with(const EncodedTensorMap& map);

// The map must be right.
std::array<std::byte, kTensorMapBytes> encode(const TensorMap& map);

constexpr Swizzle swizzle_of(TensorSwizzle swizzle) {
  return static_cast<Swizzle>(swizzle);
}

} // namespace lemma::layout
