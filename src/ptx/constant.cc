// Three layers: a literal to bits (parse_constant), one operator on two constants (apply_unary,
// apply_binary), and what a value becomes as an element of a variable (element_bits). The walk over an
// expression is the parser's, which takes binary_precedence() from here.
#include "ptx/constant.h"

#include <bit>
#include <charconv>
#include <cmath>

namespace lemma::ptx {
namespace {

ConstantResult fault(ConstantFault why) {
  return {{}, why};
}
ConstantResult integer(uint64_t bits, bool is_unsigned) {
  return {{is_unsigned ? ImmKind::unsigned_integer : ImmKind::integer, bits}, ConstantFault::none};
}
ConstantResult real(double value) {
  return {{ImmKind::f64, std::bit_cast<uint64_t>(value)}, ConstantFault::none};
}
double as_double(Constant c) {
  return std::bit_cast<double>(c.bits);
}

ConstantResult parse_integer(std::string_view text) {
  const bool marked = text.back() == 'U';
  if (marked)
    text.remove_suffix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char prefix = static_cast<char>(text[1] | 0x20);
    base = prefix == 'x' ? 16 : prefix == 'b' ? 2 : 8;
    text.remove_prefix(base == 8 ? 1 : 2);
  }
  uint64_t bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits, base);
  if (error != std::errc() || end != text.data() + text.size())
    return fault(ConstantFault::out_of_range);
  return integer(bits, marked || bits > static_cast<uint64_t>(INT64_MAX));
}

ConstantResult parse_decimal(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    return fault(ConstantFault::out_of_range);
  return real(value);
}

ConstantResult apply_to_doubles(TokenKind op, double a, double b) {
  switch (op) {
  case TokenKind::plus:
    return real(a + b);
  case TokenKind::minus:
    return real(a - b);
  case TokenKind::star:
    return real(a * b);
  case TokenKind::slash:
    return b == 0 ? fault(ConstantFault::division_by_zero) : real(a / b);
  case TokenKind::less:
    return integer(a < b, false);
  case TokenKind::greater:
    return integer(a > b, false);
  case TokenKind::less_equal:
    return integer(a <= b, false);
  case TokenKind::greater_equal:
    return integer(a >= b, false);
  case TokenKind::equal_equal:
    return integer(a == b, false);
  case TokenKind::exclaim_equal:
    return integer(a != b, false);
  default:
    return fault(ConstantFault::needs_integer);
  }
}

ConstantResult divide(uint64_t a, uint64_t b, bool is_unsigned) {
  if (b == 0)
    return fault(ConstantFault::division_by_zero);
  if (is_unsigned)
    return integer(a / b, true);
  if (b == UINT64_MAX) // -1: INT64_MIN / -1 wraps
    return integer(0 - a, false);
  return integer(static_cast<uint64_t>(static_cast<int64_t>(a) / static_cast<int64_t>(b)), false);
}

bool less(uint64_t a, uint64_t b, bool is_unsigned) {
  return is_unsigned ? a < b : static_cast<int64_t>(a) < static_cast<int64_t>(b);
}

// The type of a result is unsigned if that of an operand is, but for shifts (that of the left operand),
// % (always computed unsigned) and truth values (signed).
ConstantResult apply_to_integers(TokenKind op, uint64_t a, uint64_t b, bool left_unsigned,
                                 bool any_unsigned) {
  const unsigned count = b & 63;
  switch (op) {
  case TokenKind::plus:
    return integer(a + b, any_unsigned);
  case TokenKind::minus:
    return integer(a - b, any_unsigned);
  case TokenKind::star:
    return integer(a * b, any_unsigned);
  case TokenKind::slash:
    return divide(a, b, any_unsigned);
  case TokenKind::percent:
    return b == 0 ? fault(ConstantFault::division_by_zero) : integer(a % b, true);
  case TokenKind::less_less:
    return integer(a << count, left_unsigned);
  case TokenKind::greater_greater:
    return integer(left_unsigned ? a >> count : static_cast<uint64_t>(static_cast<int64_t>(a) >> count),
                   left_unsigned);
  case TokenKind::amp:
    return integer(a & b, any_unsigned);
  case TokenKind::pipe:
    return integer(a | b, any_unsigned);
  case TokenKind::caret:
    return integer(a ^ b, any_unsigned);
  case TokenKind::less:
    return integer(less(a, b, any_unsigned), false);
  case TokenKind::greater:
    return integer(less(b, a, any_unsigned), false);
  case TokenKind::less_equal:
    return integer(!less(b, a, any_unsigned), false);
  case TokenKind::greater_equal:
    return integer(!less(a, b, any_unsigned), false);
  case TokenKind::equal_equal:
    return integer(a == b, false);
  case TokenKind::exclaim_equal:
    return integer(a != b, false);
  case TokenKind::amp_amp:
    return integer(a != 0 && b != 0, false);
  case TokenKind::pipe_pipe:
    return integer(a != 0 || b != 0, false);
  default:
    return fault(ConstantFault::needs_integer);
  }
}

} // namespace

std::string_view describe(ConstantFault fault) {
  switch (fault) {
  case ConstantFault::none:
    return "";
  case ConstantFault::out_of_range:
    return "the constant is out of range";
  case ConstantFault::division_by_zero:
    return "division by zero in a constant expression";
  case ConstantFault::mixed_types:
    return "a constant expression mixes integers and floating-point numbers";
  case ConstantFault::needs_integer:
    return "this operator takes integers only";
  case ConstantFault::f32_in_expression:
    return "a constant 0fXXXXXXXX stands alone: it is no operand of an operator";
  }
  return "";
}

ConstantResult parse_constant(TokenKind kind, std::string_view text) {
  if (kind == TokenKind::integer)
    return parse_integer(text);
  if (kind == TokenKind::decimal)
    return parse_decimal(text);
  uint64_t bits = 0;
  std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  return {{kind == TokenKind::f32_bits ? ImmKind::f32 : ImmKind::f64, bits}, ConstantFault::none};
}

ConstantResult apply_unary(TokenKind op, Constant operand) {
  if (operand.kind == ImmKind::f32)
    return fault(ConstantFault::f32_in_expression);
  const bool is_unsigned = operand.kind == ImmKind::unsigned_integer;
  switch (op) {
  case TokenKind::plus:
    return {operand, ConstantFault::none};
  case TokenKind::minus:
    return operand.is_integer() ? integer(0 - operand.bits, is_unsigned) : real(-as_double(operand));
  case TokenKind::exclaim:
    return operand.is_integer() ? integer(operand.bits == 0, false) : fault(ConstantFault::needs_integer);
  default: // ~
    return operand.is_integer() ? integer(~operand.bits, true) : fault(ConstantFault::needs_integer);
  }
}

ConstantResult apply_binary(TokenKind op, Constant left, Constant right) {
  if (left.kind == ImmKind::f32 || right.kind == ImmKind::f32)
    return fault(ConstantFault::f32_in_expression);
  if (left.is_integer() != right.is_integer())
    return fault(ConstantFault::mixed_types);
  if (!left.is_integer())
    return apply_to_doubles(op, as_double(left), as_double(right));
  const bool left_unsigned = left.kind == ImmKind::unsigned_integer;
  const bool any_unsigned = left_unsigned || right.kind == ImmKind::unsigned_integer;
  return apply_to_integers(op, left.bits, right.bits, left_unsigned, any_unsigned);
}

int binary_precedence(TokenKind kind) {
  switch (kind) {
  case TokenKind::pipe_pipe:
    return 1;
  case TokenKind::amp_amp:
    return 2;
  case TokenKind::pipe:
    return 3;
  case TokenKind::caret:
    return 4;
  case TokenKind::amp:
    return 5;
  case TokenKind::equal_equal:
  case TokenKind::exclaim_equal:
    return 6;
  case TokenKind::less:
  case TokenKind::greater:
  case TokenKind::less_equal:
  case TokenKind::greater_equal:
    return 7;
  case TokenKind::less_less:
  case TokenKind::greater_greater:
    return 8;
  case TokenKind::plus:
  case TokenKind::minus:
    return 9;
  case TokenKind::star:
  case TokenKind::slash:
  case TokenKind::percent:
    return 10;
  default:
    return 0;
  }
}

uint64_t element_bits(Constant value, Type type) {
  const int bits = isa::bits_of(type);
  uint64_t out = value.bits;
  if (value.kind == ImmKind::f64 && bits < 64)
    out = std::bit_cast<uint32_t>(static_cast<float>(as_double(value)));
  return bits >= 64 ? out : out & ((uint64_t{1} << bits) - 1);
}

} // namespace lemma::ptx
