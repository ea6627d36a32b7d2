// The rules of tensor maps, and the 128 bytes that a kernel gets: the hardware's, bit for bit.
//
// Compilers, CUTLASS and kernels write and change these bytes themselves, so nothing that they say is
// believed before wrong_with() has seen it. There is no magic number: zeroed memory is a map of one byte.
//
//   word   bit 63                      32   31                                                    0
//         +-----------------------------------+------------------------------------------------------+
//     0   | address                                                                                  |
//     1   | strides[0] / 16                   | 0 im2col, 4-6 rank, 7-10 type, 11-12 interleave,     |
//         |                                   | 13-14 and 22 swizzle, 15 fill, 16 tf32, 17-18 L2,    |
//         |                                   | 23-24 atoms of the swizzle (sm_100)                  |
//     2   | strides[2] / 16                   | strides[1] / 16                                      |
//     3   | 32-35 ... 44-47: strides[0] ...   | strides[3] / 16                                      |
//         | strides[3] / 2^36                 |                                                      |
//     4   | dims[1]                           | dims[0]                                              |
//     5   | dims[3]                           | dims[2]                                              |
//     6   | 56-63 box[0]; 32-34 ... 44-46:    | dims[4]                                              |
//         | element_strides[0] ... [4]        |                                                      |
//     7   | im2col: 32-41 pixels              | tile: box[1] ... box[4], a byte each                 |
//         |                                   | im2col: 0-15 lower corner, 16-31 upper corner        |
//     8   |                                   | bytes of the box                                     |
//     9   |                                   | alignment in shared memory: 16, 256, 512, 1024       |
//   10-15 |                                                                                          |
//         +------------------------------------------------------------------------------------------+
//
// The rank, sizes, element strides and pixels are stored less one, strides without the four bits that are
// zero. An im2col map has its channels in place of box[0]; each corner is a field of 16 bits, two of 8 or
// three of 5, W first. Dimension 0 has no stride; strides[0] is that of dimension 1.
//
// Measured on an H200 (driver 580.159.04), tests/golden/tensor_maps: what the driver's encoders write, what
// tensormap.replace changes, and what a load makes of bits that neither writes. It ignores bits 1-3 and 17-31
// of word 1, what is blank above in words 3, 6 and 7, and words 8 to 15 whatever is in them: CUTLASS clears
// bit 21 of word 1 for small tensors. The codes of types of 4 and 6 bits are those that ptxas 13 puts into
// tensormap.replace for sm_100a; what words 8 and 9 of such a map are is assumed. cuTensorMapEncodeIm2colWide
// writes an im2col map whose corners are 0 but in W.
//
// Of swizzles with atoms of more than 16 bytes, the swizzle's field says 128B, and bits 23 and 24 have the
// number of tensormap.replace .swizzle_atomicity: 0 for 16 bytes, 1 for 32, 2 for 32 with flipped halves, 3
// for 64. That place is assumed: no sm_100 has been asked.
//
// PTX ISA: "Tensors", "Tensor Map", "tensormap.replace". Tests: tests/unit/layout/tensor_map_test.cc,
// tests/unit/layout/recorded_maps_test.cc, tests/unit/layout/swizzle_atoms_test.cc.
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

using TensorMapBytes = std::array<std::byte, kTensorMapBytes>;

// Where a number is in the 128 bytes: `bits` of them from `bit` on, bit 64 the lowest of word 1; of several,
// the next follows at once.
struct TensorMapField {
  uint16_t bit;
  uint8_t bits;
  uint8_t less = 0; // what is subtracted before it is stored
};

namespace map_field {
inline constexpr TensorMapField address{0, 64};
inline constexpr TensorMapField im2col{64, 1};
inline constexpr TensorMapField rank{68, 3, 1};
inline constexpr TensorMapField type{71, 4};
inline constexpr TensorMapField interleave{75, 2};
inline constexpr TensorMapField swizzle{77, 2};
inline constexpr TensorMapField oob_fill{79, 1};
inline constexpr TensorMapField tf32{80, 1}; // of f32 and f32_ftz alone
inline constexpr TensorMapField l2_promotion{81, 2};
inline constexpr TensorMapField swizzle_high{86, 1}; // tensormap.replace clears it, sm_90 ignores it
inline constexpr TensorMapField atoms{87, 2};        // assumed; sm_90 ignores them
inline constexpr TensorMapField stride_low{96, 32};  // in units of 16 bytes
inline constexpr TensorMapField stride_high{224, 4}; // in units of 2^36 bytes
inline constexpr TensorMapField dim{256, 32, 1};
inline constexpr TensorMapField element_stride{416, 3, 1};
inline constexpr TensorMapField box{440, 8, 1};
inline constexpr TensorMapField channels{440, 8, 1};
inline constexpr TensorMapField pixels{480, 10, 1};
inline constexpr TensorMapField box_bytes{512, 32};
inline constexpr TensorMapField shared_align{576, 32};

// Of im2col maps, by spatial dimensions.
constexpr uint8_t corner_bits(size_t spatial) {
  return spatial <= 1 ? 16 : spatial == 2 ? 8 : 5;
}
constexpr TensorMapField lower(size_t spatial) {
  return {448, corner_bits(spatial)};
}
constexpr TensorMapField upper(size_t spatial) {
  return {464, corner_bits(spatial)};
}
} // namespace map_field

uint64_t get(const TensorMapBytes& bytes, TensorMapField field, size_t i = 0);
// Of a value that is too large, the bits that there is room for.
void put(TensorMapBytes& bytes, TensorMapField field, size_t i, uint64_t value);

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

// The first rule that the map breaks, with the values and what is legal; empty: none. The rules are those of
// the driver's cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col: of 7,600 recorded parameter sets exactly
// those are wrong that the driver of an H200 refuses, but for types of 4 and 6 bits, which it does not take
// at all.
std::string wrong_with(const TensorMap& map);

enum class TensorMode : uint8_t { tile, im2col };

// What the 128 bytes say, for whoever uses them. A rank of 6 to 8 is none, nor is a type of `kNoType`.
struct TensorMapFields {
  uint64_t address = 0;
  std::array<uint64_t, kMaxTensorRank - 1> strides_bytes{}; // of dimension 1 and up
  std::array<uint64_t, kMaxTensorRank> dims{};
  std::array<uint16_t, kMaxTensorRank> box{};               // tile
  std::array<int16_t, kMaxTensorRank - 2> lower{}, upper{}; // im2col, as the rest
  uint16_t channels = 0, pixels = 0;
  std::array<uint8_t, kMaxTensorRank> element_strides{};
  uint8_t rank = 0;
  TensorType type{};
  TensorInterleave interleave{};
  TensorSwizzle swizzle{};
  TensorFill oob_fill{};
  TensorL2 l2_promotion{};
  TensorMode mode{};

  static constexpr auto kNoType = static_cast<TensorType>(0xff);
  bool is_im2col() const { return mode == TensorMode::im2col; }
};

// Who reads the bytes: sm_90, which ignores the atoms of swizzles, or sm_100 and up.
enum class MapReader : uint8_t { sm_90, sm_100 };
constexpr MapReader map_reader(int sm) {
  return sm < 100 ? MapReader::sm_90 : MapReader::sm_100;
}

TensorMapFields decode(const TensorMapBytes& bytes, MapReader reader = MapReader::sm_100);

// Why an instruction may not use the bytes, with the values and what is legal; empty: it may. Less is asked
// of them than the driver asks of who has them encoded; what a load on an H200 takes is measured (flips.txt
// of tests/golden/tensor_maps).
std::string wrong_with(const TensorMapBytes& bytes, MapReader reader = MapReader::sm_100);

// The map must be right.
TensorMapBytes encode(const TensorMap& map);
TensorMapBytes encode(const TensorMapFields& fields);

// tensormap.replace, its fields and its numbers: ranks are less one, types 0 (u8) to 15 (b6x16_p32).
enum class ReplacedField : uint8_t {
  global_address,
  rank,
  box_dim,
  global_dim,
  global_stride,
  element_stride,
  elemtype,
  interleave_layout,
  swizzle_mode,
  swizzle_atomicity,
  fill_mode
};
inline constexpr uint64_t kReplaceTypes = 16;
// `ordinal` is 0 to 4. The fifth stride, which no tensor has, lies where the high bits of all are.
void replace(TensorMapBytes& bytes, ReplacedField field, size_t ordinal, uint64_t value);

// A swizzle of 128 bytes with atoms of more than 16.
constexpr bool has_atoms(TensorSwizzle swizzle) {
  return swizzle > TensorSwizzle::b128;
}
// As messages and files spell it: none, 32B, ..., 128B_ATOM_64B.
const char* swizzle_word(TensorSwizzle swizzle);

constexpr uint32_t line_bytes(TensorSwizzle swizzle) {
  return line_bytes(has_atoms(swizzle) ? Swizzle::b128 : static_cast<Swizzle>(swizzle));
}

// After how many bytes of shared memory the pattern repeats.
constexpr uint32_t pattern_bytes(TensorSwizzle swizzle) {
  if (!has_atoms(swizzle))
    return 8 * line_bytes(swizzle);
  return swizzle == TensorSwizzle::b128_atom_64b ? 256 : 512;
}

constexpr uint32_t swizzle_address(uint32_t address, TensorSwizzle swizzle) {
  switch (swizzle) {
  case TensorSwizzle::b128_atom_32b:
    return swizzle_address_of_32b_atoms(address);
  case TensorSwizzle::b128_atom_32b_flip_8b:
    return swizzle_address_of_flipped_atoms(address);
  case TensorSwizzle::b128_atom_64b:
    return swizzle_address_of_64b_atoms(address);
  default:
    return swizzle_address(address, static_cast<Swizzle>(swizzle));
  }
}

} // namespace lemma::layout
