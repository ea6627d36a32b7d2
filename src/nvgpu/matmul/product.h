// Matrix products in host code that a kernel can be made of: linalg.matmul and linalg.batch_matmul on
// memrefs.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/kernel_choice.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>
#include <string>

namespace lemma::nvgpu {

// What products are compiled for.
struct MatmulTarget {
  isa::Target machine;
  bool allow_tf32 = false;
  const Schedule* schedule = nullptr; // that was asked for: its family, if that takes the types
};

struct Product {
  mlir::linalg::LinalgOp op;
  mlir::linalg::FillOp fill = {}; // of C with zero, before it: the sums begin there
  mlir::Value a, b, c; // memrefs; those of a batch have a first dimension more, A and B may lack it
  bool is_batch = false;
  bool a_transposed = false, b_transposed = false; // A is K x M, B is N x K
  bool is_unsigned = false;                        // A's and B's integers
  MatmulFamily family = MatmulFamily::wgmma;
};

// None: the operation is none, or no kernel takes it.
std::optional<Product> product_of(mlir::Operation* op, const MatmulTarget& target);

// Why no kernel is made of a contraction that is on memrefs: "there is none for ..."; empty: one is, or it is
// no product of matrices.
std::string why_none(mlir::Operation* op, const MatmulTarget& target);

// Of f32, which is multiplied as tf32: the operation says so, or it is `allowed` for all.
bool multiplies_as_tf32(const Product& product, bool allowed);

mlir::MemRefType type_of(mlir::Value memref);
// What a view is of.
mlir::Value root_of(mlir::Value memref);
// It comes from gpu.alloc, or its memory space is #gpu.address_space<global> or 1.
bool is_device_memory(mlir::Value memref);
// An allocation on the host or, synchronously, on the device; such a deallocation, and of what.
bool is_allocation(mlir::Operation* op);
mlir::Value freed_by(mlir::Operation* op); // null: it frees nothing
// Allocated in this function, and used by the operations alone that have it as operand: no views, no calls.
bool is_local(mlir::Value memref);

} // namespace lemma::nvgpu
