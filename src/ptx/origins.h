// Which variables the values in a function's registers were made from, as far as its text says: the lint
// rules ask before a run, the checker during one. A register has one origin, of all instructions that write
// it.
//
// Tests: tests/unit/ptx/origins_test.cc.
#pragma once

#include "ptx/module.h"

#include <cstdint>
#include <vector>

namespace lemma::ptx {

struct Origin {
  enum class Kind : uint8_t {
    unset, // no instruction that writes it has been looked at
    number,
    variable,
    several, // of two variables, or now a number, now of a variable
  } kind = Kind::number;
  const Variable* variable = nullptr;

  bool is_variable() const { return kind == Kind::variable; }
  friend bool operator==(const Origin&, const Origin&) = default;
};

class Origins {
public:
  // In time linear in the text: where its loops hand values on too often, nothing is known of any register.
  Origins(const Module& module, const Function& function);

  // Of a register, a symbol, or an address operand. The variable that the value is an address of: a mov gave
  // it, and additions, subtractions, masks, conversions and selections have kept it; whatever else is done to
  // it makes it a number.
  Origin address_of(const Operand& operand) const { return origin(operand, addresses_); }
  // Also of a vector: the variable that it was computed from in any way but through memory, as matrix
  // descriptors and indices are. Numbers beside it do not matter.
  Origin made_from(const Operand& operand) const;

private:
  bool define(const Instruction& instruction);
  Origin address_of_result(const Instruction& instruction) const;
  Origin made_by(const Instruction& instruction) const;
  Origin origin(const Operand& operand, const std::vector<Origin>& registers) const;

  const Module& module_;
  const Function& function_;
  std::vector<Origin> addresses_, made_; // by register
};

} // namespace lemma::ptx
