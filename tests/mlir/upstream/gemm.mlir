// REQUIRES: mlir-opt
// DEFINE: %{gemm} = %S/../programs/gemm_128x128x128_f16_f32/gemm_128x128x128_f16_f32.mlir
// RUN: %mlir-opt %{gemm} -o %t.pretty.mlir && lemma run %t.pretty.mlir | FileCheck %{gemm}
// RUN: %mlir-opt %{gemm} --mlir-print-op-generic -o %t.generic.mlir && lemma run %t.generic.mlir | FileCheck %{gemm}
//
// A whole program, host side included, runs as LLVM 22's mlir-opt prints it, pretty and generic.
