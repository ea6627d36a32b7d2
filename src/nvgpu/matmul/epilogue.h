// What is done with a product element by element - bias, activation, conversion - as part of its kernel.
//
// A linalg.generic right after a product that reads its result once, at the same place, and writes a matrix
// of the same shape: it becomes a function of the accumulator's elements, which the kernel calls on their way
// to memory.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>
#include <string>

namespace lemma::nvgpu {

struct Epilogue {
  mlir::linalg::GenericOp op;
  unsigned product = 0;                         // which operand of the generic is the product's result
  mlir::Value result;                           // the memref that it writes
  llvm::SmallVector<mlir::Value> operands = {}; // memrefs that it reads besides, in order
};

// Of the operation after `product`, which writes `c`; none if it is no such generic, or if something else
// reads `c`.
std::optional<Epilogue> epilogue_after(mlir::Operation* product, mlir::Value c);

// func.func private @NAME(vector<4x2xSUM>, row, column, operands...) -> vector<4x2xRESULT>, at the builder's
// place. `element` is the product's element, to which sums are rounded first; `operands` are the types of the
// arguments.
mlir::func::FuncOp make_epilogue(mlir::OpBuilder& builder, const std::string& name, Epilogue epilogue,
                                 mlir::Type sum, mlir::Type element, mlir::TypeRange operands);

} // namespace lemma::nvgpu
