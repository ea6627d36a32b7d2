// Constants of PTX text and what its operators make of them. Arithmetic is the assembler's: 64-bit integers
// that wrap, signed unless written with U or too large for .s64; doubles; no operator mixes the two.
//
// PTX ISA: "Constants", "Constant Expressions". Where the ISA is silent (shift counts, the type of a result)
// this does as ptxas 13 does; the test holds what it was seen to do. Tests: tests/unit/ptx/constant_test.cc.
#pragma once

#include "ptx/lexer.h"
#include "ptx/module.h"

#include <optional>
#include <string_view>

namespace lemma::ptx {

// `bits`: two's complement, IEEE double, or the 32 bits of a float (kind f32: 0fXXXXXXXX).
struct Constant {
  ImmKind kind = ImmKind::integer;
  uint64_t bits = 0;

  bool is_integer() const { return kind == ImmKind::integer || kind == ImmKind::unsigned_integer; }
};

// Why an operator has no result; `none` where it has one.
enum class ConstantFault : uint8_t {
  none,
  out_of_range,
  division_by_zero,
  mixed_types,
  needs_integer,
  f32_in_expression
};

std::string_view describe(ConstantFault fault);

struct ConstantResult {
  Constant value;
  ConstantFault fault = ConstantFault::none;
};

// A token of kind integer, decimal, f32_bits or f64_bits.
ConstantResult parse_constant(TokenKind kind, std::string_view text);

// + - ! ~
ConstantResult apply_unary(TokenKind op, Constant operand);
// All of C's binary operators.
ConstantResult apply_binary(TokenKind op, Constant left, Constant right);

// How tightly a binary operator binds, from 1 (||) to 10 (* / %); 0: `kind` is no binary operator.
int binary_precedence(TokenKind kind);

// The low bits of a variable's element of `type` that is initialized with `value`: floats are rounded to the
// type.
uint64_t element_bits(Constant value, Type type);

} // namespace lemma::ptx
