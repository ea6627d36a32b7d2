// A typed module as PTX text: qualifiers in the ISA's order, one instruction a line. parse(print(m)) equals m
// but for source positions.
//
// Tests: tests/unit/ptx/corpus_test.cc, assembler_test.cc (ptxas makes the same code of the printed text).
#pragma once

#include "ptx/module.h"

#include <string>

namespace lemma::ptx {

std::string print(const Module& module);
// One instruction, without its newline: "@%p1 add.s32 %r1, %r2, 4;".
std::string print(const Instruction& instruction, const Function& function, const Module& module);

} // namespace lemma::ptx
