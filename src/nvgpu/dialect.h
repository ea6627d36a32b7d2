// The nvgpu dialect: classes of its attributes, types and operations (generated from dialect.td and ops.td).
//
// It bears the name of upstream MLIR's nvgpu dialect and takes what that one prints, so the two cannot be in
// one context: register this one, never mlir::registerAllDialects().
//
// Tests: tests/mlir/.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "nvgpu/enums.h.inc"

#include "nvgpu/dialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "nvgpu/attributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "nvgpu/types.h.inc"

namespace lemma::nvgpu {

// Two operands, each of which may be missing: an index (before or after its conversion) and an i1.
struct IdAndPredicate {
  explicit IdAndPredicate(::mlir::ValueRange operands) {
    for (const ::mlir::Value operand : operands)
      (operand.getType().isInteger(1) ? predicate : id) = operand;
  }
  ::mlir::Value id, predicate;
};

} // namespace lemma::nvgpu

#define GET_OP_CLASSES
#include "nvgpu/ops.h.inc"

namespace lemma::nvgpu {

// Whether a memref's memory space is shared memory: #gpu.address_space<workgroup>, or 3.
bool is_shared_memory(::mlir::Attribute memory_space);

} // namespace lemma::nvgpu
