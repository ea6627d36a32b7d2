// One PTX instruction by its spelling, as the catalogue (src/isa) knows it: which registers its operands are,
// where it may be used. The dialect's verifiers and its lowering ask here and keep no tables of their own.
//
// Tests: tests/unit/nvgpu/instruction_test.cc.
#pragma once

#include "isa/form.h"
#include "support/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace lemma::nvgpu {

// A data operand: `count` registers of `type`; a scalar is one register.
struct Registers {
  int count = 0;
  isa::Type type = isa::Type::none;
};

class Instruction {
public:
  // `spelling`: opcode and qualifiers, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32". The error names
  // the word that fits no form, and what would. With several forms of one spelling, `form_index` chooses,
  // most specific first.
  static Result<Instruction, Diagnostic> find(std::string_view spelling, size_t form_index = 0);

  const std::string& spelling() const { return spelling_; }
  const isa::Form& form() const { return *binding_.form; }
  // Of operand `index`, in the order of the form.
  Registers registers(size_t index) const;
  bool is_available(isa::Target target) const { return form().targets.contains(target); }

private:
  std::string spelling_;
  isa::Binding binding_;
};

// What one asks of a matrix instruction before one knows its shape. Words that its forms must have ("sp"),
// and must not have; empty types match any.
struct MatrixQuery {
  isa::Opcode opcode = isa::Opcode::none;
  std::vector<std::string_view> with, without;
  std::vector<isa::Type> types; // as the spelling has them: D A B C
};
// The shapes of such forms, "m16n8k8", each once, in table order.
std::vector<std::string> legal_shapes(const MatrixQuery& query);
// The types of such forms, "f16 x f16 + f32 -> f32"; of the query's types only the first multiplicand's
// counts.
std::vector<std::string> legal_types(const MatrixQuery& query);

} // namespace lemma::nvgpu
