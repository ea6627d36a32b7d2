// Operands that make instructions go wrong: the classes of numeric/hash.h, and for scalar instructions more -
// cross products of special values, sums that cancel, results at the edge of a format, ties of a conversion,
// every value of a 16-bit operand.
//
// Tests: tests/unit/golden/values_test.cc.
#pragma once

#include "isa/vocabulary.h"
#include "numeric/hash.h"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace lemma::golden {

// What the bits of an operand mean: `lanes` numbers of one format, the first in the low bits.
struct Values {
  enum class Kind : uint8_t {
    floating,
    integer,
    predicate,    // 0 or 1
    position,     // u32: a shift amount, a bit position or a length
    bit_index,    // u32: 0 .. 31
    small_signed, // s32: -40 .. 40
    nonzero,      // integer, a divisor
  };
  Kind kind = Kind::integer;
  numeric::FloatFormat floating = numeric::FloatFormat::f32;
  numeric::IntegerFormat integer = numeric::IntegerFormat::u32;
  int lanes = 1;

  int lane_bits() const;
  int bits() const { return lane_bits() * lanes; }
  // A lane's value where the lane lies.
  uint64_t in_lane(uint64_t value, int lane) const;
  bool is_float() const { return kind == Kind::floating; }
};

// Values of an operand of this type.
Values values_of(isa::Type type);

// How the operands of one instruction hang together.
enum class Relation : uint8_t {
  none,
  sum,        // d = a + b (+ c): b near -a, near a in exponent
  difference, // d = a - b
  product,    // d = a * b: results near the ends of the exponent range
  quotient,   // d = a / b
  fused,      // d = a * b + c: c near -(a * b)
  equal,      // comparisons: often a == b or next to it
};

// What a conversion rounds to, so that ties can be made; float to float, float to integer, integer to float.
struct Target {
  bool is_float = true;
  numeric::FloatFormat floating = numeric::FloatFormat::f32;
  numeric::IntegerFormat integer = numeric::IntegerFormat::s32;
};

// [operand][element], each in the low bits of its word.
using Operands = std::vector<std::vector<uint64_t>>;

Operands make_operands(std::span<const Values> values, numeric::OperandClass operand_class, Relation relation,
                       numeric::Random& random, size_t count);
// Sources whose conversion to `target` is a tie, next to one, or next to the ends of its range.
std::vector<uint64_t> make_ties(const Values& source, const Target& target, numeric::Random& random,
                                size_t count);

// Zeros, ones, ends of ranges, infinities, NaNs quiet and signalling, subnormals.
std::span<const uint64_t> special_values(numeric::FloatFormat format);
std::span<const uint64_t> special_values(numeric::IntegerFormat format);

} // namespace lemma::golden
