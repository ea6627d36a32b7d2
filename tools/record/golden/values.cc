// Generated operands. See values.h.
//
// The recorded bits depend on every line here: a change of what it returns for a seed makes them useless. For
// the same reason no expression draws two random numbers: C++ leaves the order of its operands open.
#include "golden/values.h"

#include "numeric/arithmetic.h"

#include <algorithm>
#include <cassert>
#include <map>

namespace lemma::golden {
namespace {

using isa::Type;
using numeric::FloatFormat;
using numeric::IntegerFormat;
using numeric::OperandClass;
using numeric::Random;

uint64_t mask_of(int bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

Values floats(FloatFormat format, int lanes = 1) {
  return {.kind = Values::Kind::floating, .floating = format, .lanes = lanes};
}
Values integers(IntegerFormat format, int lanes = 1) {
  return {.kind = Values::Kind::integer, .integer = format, .lanes = lanes};
}

std::vector<uint64_t> make_special(FloatFormat format) {
  const numeric::FormatTraits& t = numeric::traits(format);
  const uint64_t ulp = uint64_t{1} << t.padding_bits;
  const uint64_t one = static_cast<uint64_t>(t.bias) << t.fraction_field_bits();
  const uint64_t exponent_step = uint64_t{1} << t.fraction_field_bits();
  std::vector<uint64_t> values = {0,
                                  ulp,
                                  t.min_normal() - ulp,
                                  t.min_normal(),
                                  one,
                                  one + ulp,
                                  one - ulp,
                                  one + exponent_step,
                                  one + exponent_step / 2,
                                  t.max_finite(),
                                  t.max_finite() - ulp};
  if (t.has_infinity()) {
    values.push_back(t.infinity());
    values.push_back(t.infinity() + ulp);                         // signalling NaN
    values.push_back(t.infinity() + exponent_step / 2);           // quiet NaN, no payload
    values.push_back(t.infinity() + exponent_step / 2 + 5 * ulp); // quiet NaN, a payload
  }
  if (t.has_nan())
    values.push_back(t.canonical_nan());
  const size_t positive = values.size();
  for (size_t i = 0; i < positive && t.is_signed; ++i)
    values.push_back(values[i] | t.sign_mask());
  return values;
}

std::vector<uint64_t> make_special(IntegerFormat format) {
  const int width = numeric::width_bits(format);
  const uint64_t mask = mask_of(width), top = uint64_t{1} << (width - 1);
  std::vector<uint64_t> values = {0,   1,       2,       3,       mask,     mask - 1,
                                  top, top + 1, top - 1, top - 2, mask / 3, mask / 3 * 2};
  for (const int bits : {8, 16, 24, 32})
    if (bits < width)
      for (const int64_t delta : {-1, 0, 1})
        values.push_back(((uint64_t{1} << bits) + static_cast<uint64_t>(delta)) & mask);
  return values;
}

// One number as a bit pattern of an operand's lane.
std::vector<uint64_t> lane_values(const Values& values, OperandClass operand_class, Random& random,
                                  size_t count) {
  std::vector<uint64_t> out(count);
  switch (values.kind) {
  case Values::Kind::floating:
    return numeric::operands(values.floating, operand_class, random, count);
  case Values::Kind::integer:
    return numeric::operands(values.integer, operand_class, random, count);
  case Values::Kind::nonzero:
    out = numeric::operands(values.integer, operand_class, random, count);
    for (uint64_t& value : out)
      value = value == 0 ? 1 : value;
    return out;
  case Values::Kind::predicate:
    for (uint64_t& value : out)
      value = random.bits(1);
    return out;
  case Values::Kind::position:
    for (uint64_t& value : out) {
      static constexpr uint64_t bounds[] = {33, 70, 256};
      const uint64_t pick = random.below(4);
      value = pick == 3 ? random.bits(32) : random.below(bounds[pick]);
    }
    return out;
  case Values::Kind::bit_index:
    for (uint64_t& value : out)
      value = random.bits(5);
    return out;
  case Values::Kind::small_signed:
    for (uint64_t& value : out)
      value = (random.below(81) - 40) & 0xffffffff;
    return out;
  }
  return out;
}

std::span<const uint64_t> special_of(const Values& values) {
  static constexpr uint64_t both[] = {0, 1};
  switch (values.kind) {
  case Values::Kind::floating:
    return special_values(values.floating);
  case Values::Kind::predicate:
    return both;
  case Values::Kind::integer:
    return special_values(values.integer);
  default: // the random choice has the special values in it
    return {};
  }
}

// Every combination of special values first, as far as there is room; the rest stays as it was.
void put_cross_product(std::span<const Values> values, Operands& lanes, size_t count) {
  size_t combinations = 1;
  std::vector<std::span<const uint64_t>> lists;
  for (const Values& v : values) {
    lists.push_back(special_of(v));
    combinations *= lists.back().empty() ? 1 : lists.back().size();
    combinations = std::min(combinations, size_t{1} << 48);
  }
  // With three long lists there are more combinations than room: steps that have no factor in common with
  // their number still reach values from all over.
  assert(count > 0);
  const size_t step = combinations <= count ? 1 : combinations / count | 1;
  for (size_t i = 0; i < std::min(combinations, count); ++i) {
    size_t index = i * step % combinations;
    for (size_t k = 0; k < values.size(); ++k) {
      const std::span<const uint64_t> list = lists[k];
      const size_t choices = list.size();
      if (choices == 0)
        continue;
      lanes[k][i] = list[index % choices];
      index /= choices;
    }
  }
}

// The number with another biased exponent, kept in the finite range.
uint64_t with_exponent(FloatFormat format, uint64_t bits, int64_t biased) {
  const numeric::FormatTraits& t = numeric::traits(format);
  const auto kept = static_cast<uint64_t>(std::clamp<int64_t>(biased, 0, t.max_biased_exponent() - 1));
  const uint64_t field = mask_of(t.exponent_bits) << t.fraction_field_bits();
  return (bits & ~field) | kept << t.fraction_field_bits();
}
int64_t exponent_of(FloatFormat format, uint64_t bits) {
  const numeric::FormatTraits& t = numeric::traits(format);
  return static_cast<int64_t>((bits & t.magnitude_mask()) >> t.fraction_field_bits());
}

uint64_t jitter(uint64_t bits, Random& random) {
  return bits ^ (random.below(3) == 0 ? random.bits(2) : 0);
}

// Moves the operands of element `i` so that their result is an interesting one.
void relate_floats(Relation relation, OperandClass operand_class, FloatFormat format, Operands& lanes,
                   size_t i, Random& random) {
  const numeric::FormatTraits& t = numeric::traits(format);
  const uint64_t sign = t.sign_mask();
  uint64_t& a = lanes[0][i];
  uint64_t& b = lanes[1][i];
  const bool cancelling = operand_class == OperandClass::cancelling;
  const uint64_t flip = cancelling && random.below(8) == 0 ? sign : 0; // now and then they add up
  const bool wide = operand_class == OperandClass::wide && random.bits(1) != 0;
  const int64_t near = static_cast<int64_t>(random.below(static_cast<uint64_t>(t.mantissa_bits) * 2 + 6)) -
                       t.mantissa_bits - 3;
  switch (relation) {
  case Relation::sum:
  case Relation::difference:
    if (cancelling)
      b = jitter(a, random) ^ (relation == Relation::sum ? sign : 0) ^ flip;
    else if (wide)
      b = with_exponent(format, b, exponent_of(format, a) + near);
    break;
  case Relation::product:
    if (wide) // a result about the smallest normal number
      b = with_exponent(format, b, t.bias - exponent_of(format, a) + near);
    break;
  case Relation::quotient:
    if (wide)
      b = with_exponent(format, b, exponent_of(format, a) + t.bias + near);
    break;
  case Relation::fused: {
    uint64_t& c = lanes[2][i];
    if (cancelling) {
      c = jitter(numeric::mul(format, a, b), random) ^ sign ^ flip;
    } else if (wide) {
      if (random.bits(1) != 0)
        b = with_exponent(format, b, t.bias - exponent_of(format, a) + near);
      c = with_exponent(format, c, exponent_of(format, numeric::mul(format, a, b)) + near);
    }
    break;
  }
  default:
    break;
  }
}

void relate_equal(const Values& values, Operands& lanes, size_t i, Random& random) {
  const uint64_t mask = mask_of(values.lane_bits());
  switch (random.below(8)) {
  case 0:
  case 1:
    lanes[1][i] = lanes[0][i];
    break;
  case 2:
    lanes[1][i] = (lanes[0][i] + 1) & mask;
    break;
  case 3:
    lanes[1][i] = lanes[0][i] ^ (uint64_t{1} << (values.lane_bits() - 1));
    break;
  default:
    break;
  }
}

} // namespace

int Values::lane_bits() const {
  switch (kind) {
  case Kind::floating:
    return numeric::traits(floating).storage_bits;
  case Kind::integer:
  case Kind::nonzero:
    return numeric::width_bits(integer);
  case Kind::predicate:
    return 8;
  default:
    return 32;
  }
}

uint64_t Values::in_lane(uint64_t value, int lane) const {
  assert(lane >= 0 && lane * lane_bits() < 64);
  return value << (lane * lane_bits());
}

Values values_of(Type type) {
  switch (type) {
  case Type::pred:
    return {.kind = Values::Kind::predicate};
  case Type::f16:
    return floats(FloatFormat::f16);
  case Type::f16x2:
    return floats(FloatFormat::f16, 2);
  case Type::bf16:
    return floats(FloatFormat::bf16);
  case Type::bf16x2:
    return floats(FloatFormat::bf16, 2);
  case Type::tf32:
  case Type::f32:
    return floats(FloatFormat::f32);
  case Type::f64:
    return floats(FloatFormat::f64);
  case Type::e4m3x2:
    return floats(FloatFormat::e4m3, 2);
  case Type::e5m2x2:
    return floats(FloatFormat::e5m2, 2);
  case Type::e4m3:
    return floats(FloatFormat::e4m3);
  case Type::e5m2:
    return floats(FloatFormat::e5m2);
  case Type::s4:
    return integers(IntegerFormat::s4);
  case Type::u4:
    return integers(IntegerFormat::u4);
  case Type::b1: // eight at a time
  case Type::u8:
    return integers(IntegerFormat::u8);
  case Type::s8:
    return integers(IntegerFormat::s8);
  case Type::b8:
    return integers(IntegerFormat::u8);
  case Type::u16x2:
    return integers(IntegerFormat::u16, 2);
  case Type::u8x4:
    return integers(IntegerFormat::u8, 4);
  case Type::s8x4:
    return integers(IntegerFormat::s8, 4);
  case Type::s16x2:
    return integers(IntegerFormat::s16, 2);
  case Type::u16:
  case Type::b16:
    return integers(IntegerFormat::u16);
  case Type::s16:
    return integers(IntegerFormat::s16);
  case Type::s32:
    return integers(IntegerFormat::s32);
  case Type::u64:
  case Type::b64:
    return integers(IntegerFormat::u64);
  case Type::s64:
    return integers(IntegerFormat::s64);
  default:
    return integers(IntegerFormat::u32);
  }
}

std::span<const uint64_t> special_values(FloatFormat format) {
  static const auto lists = [] {
    std::map<FloatFormat, std::vector<uint64_t>> all;
    for (const FloatFormat f : numeric::kAllFloatFormats)
      all[f] = make_special(f);
    return all;
  }();
  return lists.at(format);
}

std::span<const uint64_t> special_values(IntegerFormat format) {
  static const auto lists = [] {
    std::map<IntegerFormat, std::vector<uint64_t>> all;
    for (int f = 0; f <= static_cast<int>(IntegerFormat::s64); ++f)
      all[static_cast<IntegerFormat>(f)] = make_special(static_cast<IntegerFormat>(f));
    return all;
  }();
  return lists.at(format);
}

Operands make_operands(std::span<const Values> values, OperandClass operand_class, Relation relation,
                       Random& random, size_t count) {
  // Lanes of packed operands are independent numbers, as many as the widest has.
  int lanes = 1;
  for (const Values& v : values)
    lanes = std::max(lanes, v.lanes);
  const size_t numbers = count * static_cast<size_t>(lanes);
  Operands all;
  for (const Values& v : values)
    all.push_back(lane_values(v, operand_class, random, numbers));
  if (operand_class == OperandClass::special)
    put_cross_product(values, all, numbers);

  const size_t related = relation == Relation::fused ? 3 : 2;
  if (relation != Relation::none && values.size() >= related)
    for (size_t i = 0; i < numbers; ++i) {
      if (relation == Relation::equal && operand_class != OperandClass::special)
        relate_equal(values[0], all, i, random);
      else if (values[0].is_float())
        relate_floats(relation, operand_class, values[0].floating, all, i, random);
    }

  Operands packed(values.size(), std::vector<uint64_t>(count));
  for (size_t k = 0; k < values.size(); ++k)
    for (size_t i = 0; i < count; ++i)
      for (int lane = 0; lane < values[k].lanes; ++lane)
        packed[k][i] |= values[k].in_lane(all[k][static_cast<size_t>(lane) * count + i], lane);
  return packed;
}

namespace {

// An integer of uniformly random length with its low bits like 100..0, 011..1, 100..01 below some bit.
uint64_t integer_tie(const Values& source, const Target& target, Random& random) {
  const int width = source.lane_bits();
  const int length = 1 + static_cast<int>(random.below(static_cast<uint64_t>(width)));
  assert(length > 0);
  uint64_t value = random.bits(length) | uint64_t{1} << (length - 1);
  const int kept = numeric::traits(target.floating).mantissa_bits + 1;
  if (length > kept) {
    const uint64_t half = uint64_t{1} << (length - kept - 1);
    value = (value & ~(half * 2 - 1)) | half;
    value += random.below(3) - 1;
  }
  if (numeric::is_signed(source.integer) && random.bits(1) != 0)
    value = 0 - value;
  return value & mask_of(width);
}

// sign * significand * 2^exponent in the format, exact where it fits, else cut.
uint64_t number(FloatFormat format, bool sign, uint64_t significand, int exponent) {
  return numeric::encode(format, {.sign = sign, .exponent = exponent, .significand = significand},
                         {.rounding = numeric::Rounding::rz});
}

uint64_t float_tie_for_integer(const Values& source, const Target& target, Random& random) {
  const int width = numeric::width_bits(target.integer);
  const bool sign = random.bits(1) != 0;
  if (random.below(4) == 0) {                                 // the ends of the range and their neighbours
    const int top = width - static_cast<int>(random.bits(1)); // of 64 bits it is taken below
    const uint64_t halves = (top < 63 ? uint64_t{2} << top : 0) + random.below(5) - 2;
    const uint64_t bits = width == 64
                              ? number(source.floating, sign, 1, 64 - static_cast<int>(random.bits(1)))
                              : number(source.floating, sign, halves, -1);
    return bits + random.below(3) - 1;
  }
  const int length = 1 + static_cast<int>(random.below(static_cast<uint64_t>(std::min(width, 62))));
  const uint64_t quarters = random.bits(length + 2);
  return number(source.floating, sign, quarters, -2) ^ (random.below(4) == 0 ? 1 : 0);
}

uint64_t float_tie_for_float(const Values& source, const Target& target, Random& random) {
  const numeric::FormatTraits& to = numeric::traits(target.floating);
  static constexpr OperandClass classes[] = {OperandClass::ordinary, OperandClass::wide,
                                             OperandClass::subnormal};
  const uint64_t bits = numeric::operands(target.floating, classes[random.below(3)], random, 1)[0];
  const numeric::Decoded d = numeric::decode(target.floating, bits);
  if (d.float_class == numeric::FloatClass::nan || d.float_class == numeric::FloatClass::infinity)
    return numeric::encode_infinity(source.floating, d.sign);
  const int exponent =
      d.float_class == numeric::FloatClass::zero ? to.min_exponent() - to.mantissa_bits : d.exponent;
  const uint64_t middle = d.significand << 1 | random.bits(1); // half a unit in the last place
  const uint64_t made = number(source.floating, d.sign, middle, exponent - 1);
  const uint64_t nudge = random.below(3);
  return nudge == 0 ? made : nudge == 1 ? made + 1 : made - (made != 0 ? 1 : 0);
}

} // namespace

std::vector<uint64_t> make_ties(const Values& source, const Target& target, Random& random, size_t count) {
  std::vector<uint64_t> out(count);
  for (uint64_t& packed : out)
    for (int lane = 0; lane < source.lanes; ++lane) {
      uint64_t bits = 0;
      if (!source.is_float())
        bits = integer_tie(source, target, random);
      else if (target.is_float)
        bits = float_tie_for_float(source, target, random);
      else
        bits = float_tie_for_integer(source, target, random);
      packed |= source.in_lane(bits & mask_of(source.lane_bits()), lane);
    }
  return out;
}

} // namespace lemma::golden
