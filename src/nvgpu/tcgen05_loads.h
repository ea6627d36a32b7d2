// LLVM IR in which nothing reads what a tcgen05.ld loads before it is there.
//
// Tests: tests/mlir/lower/tcgen05_loads.mlir.
#pragma once

namespace llvm {
class Function;
}

namespace lemma::nvgpu {

// What a tcgen05.ld has loaded is taken behind the tcgen05.wait::ld that follows in its block, before which
// the PTX ISA has it undefined. LLVM 22 does not know that, and packs pairs of the registers right behind
// the load where they are used as pairs or in another block.
void settle_tcgen05_loads(llvm::Function& function);

} // namespace lemma::nvgpu
