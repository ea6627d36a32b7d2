// What a type !nvgpu.tensormap.descriptor says, as the tensor map of the runtime.
//
// Tests: tests/mlir/dialect/tma.mlir, tma_invalid.mlir.
#pragma once

#include "lemma/tensor_map.h"
#include "nvgpu/dialect.h"

#include <optional>
#include <string>

namespace lemma::nvgpu {

// The tensor maps' name of an element type; none: they have none. Integers without a sign count as unsigned
// but for i32 and i64; 8-bit floats are u8.
std::optional<TensorType> tensor_type(mlir::Type element);

enum class TensorMode { tile, im2col };

// The map of a type, innermost dimension first, without what only the host knows: address, extents and
// strides of the tensor, an im2col map's corners. The type has a static shape and an element type of tensor
// maps. An im2col map's innermost dimension is its channels; the others make up its pixels.
TensorMap tensor_map_of(TensorMapDescriptorType type, TensorMode mode);

// The first rule of tensor maps that no map of this type can keep, with the values and what is legal; empty:
// none. An im2col map's corners are checked too if given.
struct Im2colCorners {
  llvm::ArrayRef<int32_t> lower, upper;
};
std::string wrong_with(TensorMapDescriptorType type, TensorMode mode,
                       std::optional<Im2colCorners> corners = std::nullopt);

} // namespace lemma::nvgpu
