// Tensor maps: what the tensor copies of sm_90 (TMA, cp.async.bulk.tensor) are told about a tensor in global
// memory and the box of it that they move.
//
//   lemma::TensorMap map{.type = lemma::TensorType::bf16, .address = a->address(), .dims = {k, m},
//                        .strides_bytes = {k * 2}, .box = {64, 128}, .swizzle = lemma::TensorSwizzle::b128};
//   auto argument = device->encode(map);   // 128 bytes, for a kernel parameter that takes it by value
//
// The innermost dimension comes first, as in cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, whose rules
// hold. Plain data; Device::encode() checks it.
//
// Tests: tests/unit/layout/tensor_map_test.cc, tests/unit/runtime/api_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace lemma {

// tf32 elements are f32 in memory, and loads round them. The _ftz ones flush subnormal numbers to zero in
// reductions, not in copies.
//
// The last three are elements of 4 and 6 bits, of sm_100 and up. In global memory they are packed, the first
// in the lowest bits. In shared memory b4x16 is too; b4x16_p64 and b6x16_p32 have 16 elements in each 16
// bytes, packed at the front, and what follows them is not initialized; stores of b6x16_p32 (b6p2x16 to the
// PTX ISA) take them from a byte each. Dimensions and boxes count elements.
enum class TensorType : uint8_t {
  u8,
  u16,
  u32,
  s32,
  u64,
  s64,
  f16,
  f32,
  f64,
  bf16,
  f32_ftz,
  tf32,
  tf32_ftz,
  b4x16,     // CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B
  b4x16_p64, // CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B: loads only
  b6x16_p32  // CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B
};
enum class TensorInterleave : uint8_t { none, b16, b32 };
// Those with atoms of more than 16 bytes are of sm_100 and up: chunks of 32 or 64 bytes change places within
// 128, and with flip_8b also the halves of each 16 bytes of every other row.
enum class TensorSwizzle : uint8_t {
  none,
  b32,
  b64,
  b128,
  b128_atom_32b,         // CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B
  b128_atom_32b_flip_8b, // CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B
  b128_atom_64b          // CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B
};
enum class TensorFill : uint8_t { zeros, nan }; // elements outside the tensor
enum class TensorL2 : uint8_t { none, b64, b128, b256 };

// In place of a box: pixels of an image, in the order of a convolution's traversal.
struct TensorIm2col {
  std::vector<int32_t> lower,
      upper; // corners of the bounding box, by spatial dimension, W first: rank - 2 each
  uint32_t channels_per_pixel = 0; // 1 to 256
  uint32_t pixels_per_column = 0;  // 1 to 1024
};

struct TensorMap {
  TensorType type = TensorType::u8;
  uint64_t address = 0;                       // of the tensor, in global memory
  std::vector<uint64_t> dims = {};            // elements; 1 to 5 of them
  std::vector<uint64_t> strides_bytes = {};   // of dimension 1 and up: one less than dims
  std::vector<uint32_t> box = {};             // elements; none for im2col
  std::vector<uint32_t> element_strides = {}; // empty: all 1
  TensorInterleave interleave = TensorInterleave::none;
  TensorSwizzle swizzle = TensorSwizzle::none;
  TensorFill oob_fill = TensorFill::zeros;
  TensorL2 l2_promotion = TensorL2::none;
  std::optional<TensorIm2col> im2col = {};
};

} // namespace lemma
