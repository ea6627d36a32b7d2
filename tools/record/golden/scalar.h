// Cases of the scalar instructions, made from the instruction forms: every spelling that sm_90a has and that
// works on registers, the approximate functions too, with every class of operands. Which forms do, and which
// group a case belongs to, follows from the form's section of the ISA and its types.
//
// Not here: carry chains (carry.h); whatever touches memory or other lanes.
//
// Tests: tests/unit/golden/ (every opcode is covered here, elsewhere, or named as not recorded),
// tests/golden/.
#pragma once

#include "golden/case.h"
#include "golden/spelling.h"
#include "golden/values.h"
#include "isa/form.h"

namespace lemma::golden {

// All cases of one group: "integer", "logic", "f32", "f64", "half", "compare", "convert", "video".
std::vector<Case> scalar_cases(std::string_view group);

// Every spelling that the cases are made of: of instructions whose operands are registers and whose results
// the ISA (or IEEE 754) defines to the bit.
std::vector<Spelling> exact_spellings();

// Bits of the register that such an instruction has for an operand (1: a predicate), and what it may hold.
int exact_register_bits(const Spelling& spelling, const isa::OperandSpec& spec);
Values exact_operand_values(const Spelling& spelling, const isa::OperandSpec& spec);

} // namespace lemma::golden
