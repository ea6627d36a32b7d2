// REQUIRES: numpy
// RUN: %python %S/../run/run_page.py lemma %S/../../../docs/matmul.md | FileCheck %s
//
// The program and commands of docs/matmul.md.

// CHECK: {{[1-9][0-9]*}} commands, 0 failed
