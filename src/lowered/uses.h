// What passes and the decoder ask of an instruction, and how often registers are read.
//
// Tests: tests/unit/lowered/copies_test.cc.
#pragma once

#include "lowered/program.h"

#include <vector>

namespace lemma::lowered {

// It executes whoever comes there, what it reads and writes is known, and nobody asks whether that was
// written.
inline bool is_plain(const Inst& inst) {
  return inst.guard == kNone && !inst.notes.has(Note::partial) && !inst.notes.has(Note::reads_unwritten) &&
         !inst.notes.has(Note::marks_written);
}

// Of Op::special: what it reads.
inline isa::SpecialRegister special_register_of(const Function& function, const Inst& inst) {
  return static_cast<isa::SpecialRegister>(function.sources_of(inst)[0].index);
}

// f(register) for those that are parameters and results.
template <class F>
void for_each_parameter(const Function& function, F&& f) {
  for (const auto* variables : {&function.text->params, &function.text->returns})
    for (const ptx::Variable& variable : *variables)
      if (variable.reg != kNone)
        for (uint32_t i = 0; i < static_cast<uint32_t>(variable.vector_elems); ++i)
          f(function.register_of(variable.reg, i));
}

// By register; those of parameters and results count as more than once.
std::vector<uint32_t> count_reads(const Function& function);

} // namespace lemma::lowered
