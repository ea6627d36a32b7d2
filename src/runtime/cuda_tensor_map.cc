// Tensor maps by the driver's own encoders. See cuda_device.cc.
//
// CUDA driver API: cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col.
#include "runtime/cuda_tensor_map.h"

#include <vector>

namespace lemma::runtime::cuda {
namespace {

// CUtensorMapDataType, in the order of TensorType.
static_assert(static_cast<int>(TensorType::u8) == 0 && static_cast<int>(TensorType::tf32_ftz) == 12 &&
              static_cast<int>(TensorType::b6x16_p32) == 15);

std::vector<uint32_t> ones_if_empty(const std::vector<uint32_t>& values, size_t count) {
  return values.empty() ? std::vector<uint32_t>(count, 1) : values;
}

} // namespace

Status encode_tensor_map(const Driver& driver, const TensorMap& map, void* out) {
  const auto rank = static_cast<unsigned>(map.dims.size());
  const std::vector<uint32_t> steps = ones_if_empty(map.element_strides, rank);
  const auto type = static_cast<int>(map.type), interleave = static_cast<int>(map.interleave),
             swizzle = static_cast<int>(map.swizzle), l2 = static_cast<int>(map.l2_promotion),
             fill = static_cast<int>(map.oob_fill);
  auto* address = reinterpret_cast<void*>(map.address);
  constexpr uint64_t kNoStrides =
      0; // of a tensor with one dimension: the driver wants a pointer all the same
  const uint64_t* strides = map.strides_bytes.empty() ? &kNoStrides : map.strides_bytes.data();
  if (!map.im2col)
    return driver.tensor_map_encode_tiled(out, type, rank, address, map.dims.data(), strides, map.box.data(),
                                          steps.data(), interleave, swizzle, l2, fill);
  const TensorIm2col& im2col = *map.im2col;
  return driver.tensor_map_encode_im2col(
      out, type, rank, address, map.dims.data(), strides, im2col.lower.data(), im2col.upper.data(),
      im2col.channels_per_pixel, im2col.pixels_per_column, steps.data(), interleave, swizzle, l2, fill);
}

} // namespace lemma::runtime::cuda
