// LLVM's and MLIR's static initializers, run when a program in MLIR comes rather than when the process
// starts.
//
// Four hundred of their object files register command line options and the like before main(), which is a
// third of the time that `lemma run kernel.ptx` needs to start. A program linked with late_init.ld
// (cmake/lemma_mlir.cmake) leaves them in a list of their own. In a program linked without it they have run
// before main(), and there is no list.
//
// Tests: cli.starts_without_llvm; and all that runs MLIR programs by lemma or liblemma.so.
#pragma once

namespace lemma::nvgpu {

// Runs them at the first call; others wait for it. Whatever calls into LLVM or MLIR goes through
// run_guarded(), which calls this first.
void initialize_llvm();

} // namespace lemma::nvgpu
