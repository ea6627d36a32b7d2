// MLIR element types as PTX spells them, and the mma.sync instruction that an operation asks for.
//
// Tests: tests/mlir/.
#pragma once

#include "nvgpu/dialect.h"
#include "nvgpu/instruction.h"

#include <functional>

namespace lemma::nvgpu {

// f16 -> f16, bf16, tf32, f8E4M3FN -> e4m3, f8E5M2 -> e5m2, i8 and si8 -> s8, ui8 -> u8, i1 -> b1, i32 ->
// s32. none: PTX has no such type. f32 is tf32 for a multiplicand (`multiplicand`).
isa::Type ptx_type(mlir::Type element, bool multiplicand);

// Bits of an element in memory and in registers: tf32 takes 32.
unsigned storage_bits(mlir::Type element);
// Whether the dialect's operations take elements of this type two to a byte, the first in the low four bits:
// i4 and floats of 4 bits, as memref's narrow type emulation packs them.
bool is_packed(mlir::Type element);

// Bits of an element of a memref, be it a number or a vector of them; 0: no size that is known here.
int64_t element_bits(mlir::Type element);

using ErrorSink = std::function<mlir::InFlightDiagnostic()>;

// The instruction of an nvgpu.mma.sync or mma.sp.sync; an error through `error` if the catalogue has none,
// with what is legal.
mlir::FailureOr<Instruction> instruction_of(MmaSyncOp op, const ErrorSink& error);
mlir::FailureOr<Instruction> instruction_of(MmaSparseSyncOp op, const ErrorSink& error);

} // namespace lemma::nvgpu
