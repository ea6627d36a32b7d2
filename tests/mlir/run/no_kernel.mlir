// RUN: %not lemma compile %s 2>&1 | FileCheck %s --check-prefix=COMPILE
// RUN: %not lemma run %s --grid 1 --block 1 2>&1 | FileCheck %s --check-prefix=COMPILE
// RUN: lemma run %s | FileCheck %s --check-prefix=OUT
//
// A program without device code: nothing to compile, and it runs.

// COMPILE: lemma: the program has no gpu.module, nor a gpu.launch that becomes one
func.func private @printI64(i64)
func.func @main() {
  %c7 = arith.constant 7 : i64
  // OUT: 7
  call @printI64(%c7) : (i64) -> ()
  return
}
