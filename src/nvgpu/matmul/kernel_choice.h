// Which kernel a matrix product gets: by the target that it is compiled for and its elements' types. The one
// place that says what products are taken.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include "isa/target.h"

#include "mlir/IR/Types.h"

#include <cstdint>
#include <optional>

namespace lemma::nvgpu {

// By the instruction that multiplies.
enum class MatmulFamily : uint8_t {
  wgmma, // kernel.h
};

struct ProductTypes {
  mlir::Type a, b, c;       // elements, as memory has them
  bool is_unsigned = false; // integers of A and B: linalg's cast_unsigned
  bool allows_tf32 = false; // f32 may be multiplied as tf32: the operation or --allow-tf32 says so
};

// None: no kernel has these types there, and the product stays the host's.
std::optional<MatmulFamily> kernel_for(isa::Target target, const ProductTypes& types);

} // namespace lemma::nvgpu
