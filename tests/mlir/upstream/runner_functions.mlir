// REQUIRES: mlir-runner
// DEFINE: %{program} = %S/../run/runner_functions.mlir
// RUN: lemma compile %{program} --emit=nvvm -o %t.mlir
// RUN: %mlir-runner %t.mlir -e main --entry-point-result=void | sed -e 's/0x[0-9a-f]*//' > %t.upstream.txt
// RUN: lemma run %{program} | sed -e 's/0x[0-9a-f]*//' | diff %t.upstream.txt -
//
// The runner functions print, byte for byte and but for addresses, what LLVM 22's mlir-runner with its libraries prints.
