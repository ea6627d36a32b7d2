// Types of tensor maps, checked by the rules that Device::encode() has.
//
// Tests: tests/mlir/dialect/tma.mlir, tma_invalid.mlir.
#include "nvgpu/tensor_map_type.h"

#include "layout/tensor_map.h"

#include <fmt/format.h>

#include <cassert>

namespace lemma::nvgpu {

using namespace mlir;

std::optional<TensorType> tensor_type(Type element) {
  if (element.isF16())
    return TensorType::f16;
  if (element.isBF16())
    return TensorType::bf16;
  if (element.isF32())
    return TensorType::f32;
  if (element.isTF32())
    return TensorType::tf32;
  if (element.isF64())
    return TensorType::f64;
  if (!element.isIntOrFloat())
    return std::nullopt;
  const bool is_unsigned = element.isUnsignedInteger();
  switch (element.getIntOrFloatBitWidth()) {
  case 8: // f8 too: nothing is computed
    return TensorType::u8;
  case 16:
    return TensorType::u16;
  case 32:
    return is_unsigned ? TensorType::u32 : TensorType::s32;
  case 64:
    return is_unsigned ? TensorType::u64 : TensorType::s64;
  default:
    return std::nullopt;
  }
}

TensorMap tensor_map_of(TensorMapDescriptorType type, TensorMode mode) {
  const MemRefType tensor = type.getTensor();
  TensorMap map;
  const std::optional<TensorType> element = tensor_type(tensor.getElementType());
  assert(element); // the type's verifier refuses others
  map.type = *element;
  // The enumerations number their cases alike.
  map.interleave = static_cast<TensorInterleave>(type.getInterleave());
  map.swizzle = static_cast<TensorSwizzle>(type.getSwizzle());
  map.oob_fill = static_cast<TensorFill>(type.getOob());
  map.l2_promotion = static_cast<TensorL2>(type.getL2promo());
  const auto shape = tensor.getShape();
  // An extent is 64 bits and a box's 32: what does not fit is as wrong as what is too large.
  const auto narrow = [](int64_t extent) {
    return static_cast<uint32_t>(std::min<int64_t>(extent, std::numeric_limits<uint32_t>::max()));
  };
  if (mode == TensorMode::im2col) {
    map.im2col = TensorIm2col{};
    int64_t pixels = 1;
    for (const int64_t extent : shape.drop_back(shape.empty() ? 0 : 1))
      pixels = std::min<int64_t>(pixels * narrow(extent), std::numeric_limits<uint32_t>::max());
    map.im2col->channels_per_pixel = shape.empty() ? 0 : narrow(shape.back());
    map.im2col->pixels_per_column = narrow(pixels);
  } else {
    for (const int64_t extent : llvm::reverse(shape))
      map.box.push_back(narrow(extent));
  }
  return map;
}

std::string wrong_with(TensorMapDescriptorType type, TensorMode mode, std::optional<Im2colCorners> corners) {
  TensorMap map = tensor_map_of(type, mode);
  // What the host will say: anything legal, larger than any corner.
  constexpr uint64_t kSize = 1 << 16;
  const auto rank = static_cast<size_t>(type.getTensor().getRank());
  map.dims.assign(rank, kSize);
  map.strides_bytes.assign(rank > 0 ? rank - 1 : 0, 0);
  if (corners) {
    map.im2col->lower.assign(corners->lower.begin(), corners->lower.end());
    map.im2col->upper.assign(corners->upper.begin(), corners->upper.end());
  } else if (mode == TensorMode::im2col && rank >= 2) {
    map.im2col->lower.assign(rank - 2, 0);
    map.im2col->upper.assign(rank - 2, 0);
  }
  return layout::wrong_with(map);
}

} // namespace lemma::nvgpu
