// REQUIRES: numpy
// RUN: %python %S/run_page.py lemma %S/../../../docs/nvgpu.md | FileCheck %s
//
// The programs, commands and messages of docs/nvgpu.md.

// CHECK: 9 commands, 0 failed
