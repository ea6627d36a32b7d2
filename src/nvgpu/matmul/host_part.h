// The host's part of a product: a function that brings matrices to where the kernel can use them, calls the
// function that launches it, and brings C back. What is only known when the program runs - sizes, strides,
// addresses - is decided there.
//
//   func.func private @NAME(%a: A, %b: B, %c: C, %operands...)
//
// Of matrices in host memory there is a copy on the device, its rows at multiples of 16 bytes, as tensor maps
// have it. Of one in device memory that lies otherwise, or must be transposed first, a kernel makes such a
// copy. An empty product launches nothing; one of an empty sum adds zeros.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/epilogue.h"
#include "nvgpu/matmul/kernel.h"
#include "nvgpu/matmul/product.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <functional>
#include <string>

namespace lemma::nvgpu {

// What the kernel's function takes: matrices in device memory, of a batch one at a time.
struct KernelArguments {
  mlir::MemRefType a, b, c;
  llvm::SmallVector<mlir::Type> operands;
  bool a_transposed = false, b_transposed = false;
  MatmulStore store = MatmulStore::elements;
};

// Functions that are called, made if they are not there.
struct HostPartCalls {
  std::function<mlir::FailureOr<mlir::func::FuncOp>(const KernelArguments&)> kernel;
  // (memref<?x?xT, strided<[?, ?], offset: ?>>, the same), of such an element: copies a matrix or its
  // transpose; zeros where the one is larger than the other.
  std::function<mlir::FailureOr<mlir::func::FuncOp>(mlir::Type element, bool transposes)> copy;
};

// At the builder's place, which is a module's.
mlir::FailureOr<mlir::func::FuncOp> make_host_part(mlir::OpBuilder& builder, const std::string& name,
                                                   const Product& product, const Epilogue* epilogue,
                                                   const HostPartCalls& calls);

} // namespace lemma::nvgpu
