// What is done with a product element by element - bias, activation, conversion - as part of its kernel.
//
// Elementwise operations of linalg right after a product, each of which reads the result of the one before at
// the same place and writes a matrix of the same shape, become a function of the accumulator's elements,
// which the kernel calls on their way to memory.
//
// Tests: tests/mlir/matmul/.
#pragma once

#include "nvgpu/matmul/product.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>
#include <string>

namespace lemma::nvgpu {

// One of them.
struct Elementwise {
  mlir::linalg::GenericOp op;
  mlir::Value from; // what it reads of the chain: the product's result, or the one's before it
};

// Something that is read besides: a memref, or a number.
struct EpilogueOperand {
  mlir::Value value;
  std::optional<unsigned> batch_dim = {}; // of a memref: which of its dimensions is the batch
};

struct Epilogue {
  llvm::SmallVector<Elementwise> chain;
  mlir::Value result;                               // the memref that is written in the end
  llvm::SmallVector<EpilogueOperand> operands = {}; // in the order in which the chain reads them
};

// As many of the operations after the product as its kernel can do; none if it is added to what C has.
// Operations that have names are generalized when they are looked at.
std::optional<Epilogue> epilogue_after(const Product& product);

// func.func private @NAME(vector<4x2xSUM>, row, column, operands...) -> vector<4x2xRESULT>, at the builder's
// place. `element` is the product's element, to which sums are rounded first; `operands` are the types of the
// arguments, those of one matrix of a batch.
mlir::func::FuncOp make_epilogue(mlir::OpBuilder& builder, const std::string& name, const Epilogue& epilogue,
                                 mlir::Type sum, mlir::Type element, mlir::TypeRange operands);

} // namespace lemma::nvgpu
