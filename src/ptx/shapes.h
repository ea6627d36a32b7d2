// The operands of an instruction as the instruction forms see them (isa/form.h): kinds and types, not which.
// The parser chooses the form with them, the verifier says with them what is wrong.
//
// Tests: tests/unit/ptx/shapes_test.cc.
#pragma once

#include "isa/form.h"
#include "ptx/module.h"

namespace lemma::ptx {

// `out` is cleared first; give the same one again to save its allocations.
void shapes_of(const Instruction& instruction, const Function& function, const Module& module,
               isa::OperandShapes& out);

// Whether a number may have a minus: of vmad. Of others a predicate may have its !.
bool negates_numbers(const isa::Form& form);

// Of a symbol, function, label, prototype or list of targets; else empty.
std::string_view name_of(const Operand& operand, const Function& function, const Module& module);

// The variable that a symbol operand names; null for one that is not there.
const Variable* variable_of(const Operand& operand, const Function& function, const Module& module);

} // namespace lemma::ptx
