// Memory between products that nobody else uses: it stays on the device.
//
// Tests: tests/mlir/matmul/resident.mlir.
#pragma once

#include "nvgpu/matmul/product.h"

namespace lemma::nvgpu {

// Of what the products, and what is fused with them, read and write: what was allocated for them alone, and
// is freed, is allocated on the device. The products' operands are others then.
void keep_on_device(llvm::ArrayRef<Product> products);

} // namespace lemma::nvgpu
