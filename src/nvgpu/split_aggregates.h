// LLVM IR in which no structure goes from block to block.
//
// An accumulator is a structure of up to 128 registers, and a loop carries it as one. LLVM's passes see
// through structures within a block and not through their phis, and instruction selection copies all of a
// structure for each element that another block takes: 128 times 128 registers.
//
// Tests: tests/unit/nvgpu/split_aggregates_test.cc.
#pragma once

namespace llvm {
class Function;
}

namespace lemma::nvgpu {

// Every phi of a structure becomes a phi for each of its scalars, and what takes one of them takes that phi.
void split_aggregates(llvm::Function& function);

} // namespace lemma::nvgpu
