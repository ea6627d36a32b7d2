// Conversion of the nvgpu operations on the device to the LLVM dialect: patterns by family, one file each.
//
// Every operation becomes PTX instructions of the catalogue (emit_ptx.h), never NVVM operations, so that what
// is legal is stated once. Types: conversion of the dialect's own types is add_type_conversions().
//
// Tests: tests/mlir/lower/.
#pragma once

#include "nvgpu/emit_ptx.h"

#include "mlir/Conversion/LLVMCommon/Pattern.h"

namespace lemma::nvgpu {

// A pattern for one operation that emits PTX for `target`.
template <class Op>
class Lowering : public mlir::ConvertOpToLLVMPattern<Op> {
public:
  // `benefit`: more than 1 where upstream has a pattern for the operation, too.
  Lowering(const mlir::LLVMTypeConverter& converter, PtxTarget& target, mlir::PatternBenefit benefit = 1)
      : mlir::ConvertOpToLLVMPattern<Op>(converter, benefit), target_(target) {}

protected:
  PtxCall ptx(mlir::OpBuilder& builder, mlir::Location where) const { return {builder, where, target_}; }
  PtxTarget& target() const { return target_; }
  // Puts what the PTX writes, one value for each result, in the operation's place.
  static mlir::LogicalResult replace(Op op, mlir::ConversionPatternRewriter& rewriter,
                                     const mlir::FailureOr<mlir::SmallVector<mlir::Value>>& written) {
    if (mlir::failed(written))
      return mlir::failure();
    rewriter.replaceOp(op, *written);
    return mlir::success();
  }

private:
  PtxTarget& target_;
};

// The address of an element of a memref in shared memory, as the 32 bits that PTX takes. `converted` is the
// descriptor, `indices` converted too.
mlir::Value shared_address(mlir::ConversionPatternRewriter& rewriter, mlir::Location where,
                           const mlir::LLVMTypeConverter& converter, mlir::MemRefType type,
                           mlir::Value converted, mlir::ValueRange indices);
// The same for any memory: a pointer in the memref's address space.
mlir::Value element_pointer(mlir::ConversionPatternRewriter& rewriter, mlir::Location where,
                            const mlir::LLVMTypeConverter& converter, mlir::MemRefType type,
                            mlir::Value converted, mlir::ValueRange indices);

// The address of mbarrier `id` (null: 0) of a converted group, as 32 bits.
mlir::Value barrier_address(mlir::ConversionPatternRewriter& rewriter, mlir::Location where,
                            mlir::Value group, mlir::Value id);
// An integer's low 32 bits, or i1 with zeros.
mlir::Value as_i32(mlir::OpBuilder& builder, mlir::Location where, mlir::Value value);

// device.async.token -> i32, mbarrier.token -> i64, mbarrier.group -> pointer into shared memory,
// tensormap.descriptor -> pointer, warpgroup.descriptor -> i64, warpgroup.accumulator -> struct of registers,
// tf32 -> f32.
void add_type_conversions(mlir::LLVMTypeConverter& converter);

// Converts what is in `root`. After a pattern's own error MLIR says that the operation could not be
// legalized: that is left out.
mlir::LogicalResult convert(mlir::Operation* root, const mlir::ConversionTarget& target,
                            mlir::RewritePatternSet patterns);

// ldmatrix, mma.sync, mma.sp.sync, rcp.
void populate_matrix_lowering(const mlir::LLVMTypeConverter& converter, PtxTarget& target,
                              mlir::RewritePatternSet& patterns);
// device_async_*.
void populate_async_copy_lowering(const mlir::LLVMTypeConverter& converter, PtxTarget& target,
                                  mlir::RewritePatternSet& patterns);
// memref.prefetch.
void populate_prefetch_lowering(const mlir::LLVMTypeConverter& converter, PtxTarget& target,
                                mlir::RewritePatternSet& patterns);
// mbarrier.*.
void populate_mbarrier_lowering(const mlir::LLVMTypeConverter& converter, PtxTarget& target,
                                mlir::RewritePatternSet& patterns);
// tma.*, but for tma.create.descriptor, which is the host's.
void populate_tma_lowering(const mlir::LLVMTypeConverter& converter, PtxTarget& target,
                           mlir::RewritePatternSet& patterns);
// warpgroup.*.
void populate_warpgroup_lowering(const mlir::LLVMTypeConverter& converter, PtxTarget& target,
                                 mlir::RewritePatternSet& patterns);
// What MLIR's own patterns for gpu.subgroup_mma_* cannot do; and whether PTX has what those operations in
// `root` want, with a message.
mlir::LogicalResult check_wmma(mlir::Operation* root);
void populate_wmma_lowering(const mlir::LLVMTypeConverter& converter, mlir::RewritePatternSet& patterns);
// tma.create.descriptor.
void populate_host_lowering(const mlir::LLVMTypeConverter& converter, mlir::RewritePatternSet& patterns);

} // namespace lemma::nvgpu
