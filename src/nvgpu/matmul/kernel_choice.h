// Which kernel a matrix product gets: by the target that it is compiled for and its elements' types. The one
// place that says what products are taken.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include "isa/target.h"
#include "nvgpu/matmul/schedule.h"

#include "mlir/IR/Types.h"

#include <optional>

namespace lemma::nvgpu {

struct ProductTypes {
  mlir::Type a, b, c;       // elements, as memory has them
  bool is_unsigned = false; // integers of A and B: linalg's cast_unsigned
  bool allows_tf32 = false; // f32 may be multiplied as tf32: the operation or --allow-tf32 says so
};

// Whether kernels of a family take these types there.
bool takes(MatmulFamily family, isa::Target target, const ProductTypes& types);
// The fastest that does. None: no kernel has these types there, and the product stays the host's.
std::optional<MatmulFamily> kernel_for(isa::Target target, const ProductTypes& types);

} // namespace lemma::nvgpu
