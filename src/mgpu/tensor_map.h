// Tensor maps of memrefs: the driver's enumerations and MLIR's order of dimensions (outermost first) to
// lemma::TensorMap (innermost first). Whether the map breaks a rule is for Device::encode() to say; what
// cannot be written down as one at all is said here.
//
// Tests: tests/unit/mgpu/tensor_map_test.cc.
#pragma once

#include "mgpu/failure.h"

#include "lemma/tensor_map.h"

#include <cstdint>

namespace lemma::mgpu {

// CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
// CUtensorMapFloatOOBfill.
struct TensorModes {
  int32_t type = 0, interleave = 0, swizzle = 0, l2_promotion = 0, oob_fill = 0;
};

// A map with the modes, and no tensor.
OrFailure<TensorMap> with_modes(const TensorModes& modes);

// The tensor is the memref; no box. `element_strides` may be null.
OrFailure<TensorMap> of_memref(int64_t rank, const void* descriptor, const TensorModes& modes,
                               const int64_t* element_strides);

// The box, and the corners of an im2col map, as the memref has its dimensions.
OrFailure<void> set_box(TensorMap& map, const int64_t* box);
OrFailure<void> set_im2col(TensorMap& map, const int64_t* lower, const int64_t* upper, int64_t channels,
                           int64_t pixels);

} // namespace lemma::mgpu
