// RUN: %not lemma run %s 2>&1 | FileCheck %s
// RUN: %not lemma compile %s 2>&1 | FileCheck %s
//
// A program that is still to be transformed says by what.

// CHECK: transform_script.mlir:[[# @LINE + 3]]:{{[0-9]+}}: error:
// CHECK: note: a transform script is for mlir-opt, which carries it out and takes it away: mlir-opt --transform-interpreter
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%root: !transform.any_op) {
    transform.yield
  }
}
