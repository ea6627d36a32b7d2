// What record.cc and flips.cc have in common: calls that may not fail, and the driver's own encoders. See
// record.cc.
#pragma once

#include "cases.h"

#include "driver/api.h"

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace lemma::tensor_maps {

inline void check(CUresult status, const char* what) {
  if (status == CUDA_SUCCESS)
    return;
  std::fprintf(stderr, "%s: error %d\n", what, static_cast<int>(status));
  std::exit(1);
}
#define CHECK(...) check(__VA_ARGS__, #__VA_ARGS__)

struct Encoded {
  uint32_t status = 0;
  Bytes bytes{}; // zeros where the driver refused
};

// A pointer to each array, also where there is none.
template <class T>
std::vector<T> padded(const std::vector<T>& values) {
  std::vector<T> all = values;
  all.resize(8);
  return all;
}

struct alignas(64) Target {
  Bytes bytes{};
};

inline Encoded encode(const TensorMap& map) {
  Target to;
  auto* out = reinterpret_cast<CUtensorMap*>(&to);
  const auto dims = padded(map.dims), strides = padded(map.strides_bytes);
  const auto box = padded(map.box), steps = padded(map.element_strides);
  static_assert(sizeof(cuuint64_t) == 8);
  const auto* dims64 = reinterpret_cast<const cuuint64_t*>(dims.data());
  const auto* strides64 = reinterpret_cast<const cuuint64_t*>(strides.data());
  const auto type = static_cast<CUtensorMapDataType>(map.type);
  const auto rank = static_cast<cuuint32_t>(map.dims.size());
  void* address = reinterpret_cast<void*>(map.address);
  const auto interleave = static_cast<CUtensorMapInterleave>(map.interleave);
  const auto swizzle = static_cast<CUtensorMapSwizzle>(map.swizzle);
  const auto l2 = static_cast<CUtensorMapL2promotion>(map.l2_promotion);
  const auto fill = static_cast<CUtensorMapFloatOOBfill>(map.oob_fill);
  CUresult status;
  if (map.im2col) {
    const auto lower = padded(map.im2col->lower), upper = padded(map.im2col->upper);
    status = cuTensorMapEncodeIm2col(out, type, rank, address, dims64, strides64, lower.data(), upper.data(),
                                     map.im2col->channels_per_pixel, map.im2col->pixels_per_column,
                                     steps.data(), interleave, swizzle, l2, fill);
  } else {
    status = cuTensorMapEncodeTiled(out, type, rank, address, dims64, strides64, box.data(), steps.data(),
                                    interleave, swizzle, l2, fill);
  }
  Encoded result{static_cast<uint32_t>(status), {}};
  if (status == CUDA_SUCCESS)
    result.bytes = to.bytes;
  return result;
}

} // namespace lemma::tensor_maps
