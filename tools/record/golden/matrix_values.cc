// Generated matrices. See matrix_values.h. The recorded bits depend on every line here.
#include "golden/matrix_values.h"

#include <algorithm>
#include <cassert>

namespace lemma::golden {
namespace {

using numeric::FloatFormat;
using numeric::OperandClass;
using numeric::Random;

// Random sign and fraction, biased exponent within `spread` of `center`, kept among the finite numbers.
uint64_t windowed(FloatFormat format, int center, int spread, Random& random) {
  const numeric::FormatTraits& t = numeric::traits(format);
  const int offset = static_cast<int>(random.below(2 * static_cast<uint64_t>(spread) + 1)) - spread;
  const auto biased = static_cast<uint64_t>(std::clamp(center + offset, 0, t.max_biased_exponent() - 1));
  const uint64_t fraction = random.bits(t.mantissa_bits) << t.padding_bits;
  return (random.bits(1) != 0 ? t.sign_mask() : 0) | biased << t.fraction_field_bits() | fraction;
}

// A biased exponent from the middle part of the range, so that products of two stay in the accumulator's.
int center_of(FloatFormat format, Random& random) {
  const numeric::FormatTraits& t = numeric::traits(format);
  const int reach = t.bias / 2;
  return t.bias - reach + static_cast<int>(random.below(2 * static_cast<uint64_t>(reach) + 1));
}

std::vector<uint64_t> make_window(FloatFormat format, int center, int spread, size_t count, Random& random) {
  std::vector<uint64_t> out(count);
  for (uint64_t& value : out)
    value = windowed(format, center, spread, random);
  return out;
}

class FloatMatrices {
public:
  FloatMatrices(const MatrixFormats& formats, Random& random) : f_(formats), random_(random) {}

  MatrixOperands make(OperandClass operand_class) {
    switch (operand_class) {
    case OperandClass::wide:
      return random_.bits(1) != 0 ? window() : plain(OperandClass::wide);
    case OperandClass::cancelling:
      return cancelling();
    case OperandClass::subnormal:
      return subnormal();
    case OperandClass::special:
      return special();
    default:
      return plain(OperandClass::ordinary);
    }
  }

private:
  MatrixOperands plain(OperandClass operand_class) {
    MatrixOperands m;
    m.a = numeric::operands(f_.a.floating, operand_class, random_, f_.count_a);
    m.b = numeric::operands(f_.b.floating, operand_class, random_, f_.count_b);
    m.c = numeric::operands(f_.c.floating, operand_class, random_, f_.count_c);
    return m;
  }

  int bias(const Values& v) const { return numeric::traits(v.floating).bias; }

  MatrixOperands window() {
    const int spread = 2 + static_cast<int>(random_.below(12));
    const int center_a = center_of(f_.a.floating, random_), center_b = center_of(f_.b.floating, random_);
    const int center_c = center_a - bias(f_.a) + center_b - bias(f_.b) + bias(f_.c);
    MatrixOperands m;
    m.a = make_window(f_.a.floating, center_a, spread, f_.count_a, random_);
    m.b = make_window(f_.b.floating, center_b, spread, f_.count_b, random_);
    m.c = make_window(f_.c.floating, center_c, spread + 12, f_.count_c, random_);
    return m;
  }

  MatrixOperands cancelling() {
    MatrixOperands m;
    m.a = numeric::operands(f_.a.floating, OperandClass::cancelling, random_, f_.count_a);
    m.b = numeric::operands(f_.b.floating, OperandClass::cancelling, random_, f_.count_b);
    const uint64_t sign = numeric::traits(f_.b.floating).sign_mask();
    for (size_t i = 1; i < m.b.size(); i += 2) // y, y against x, -x
      m.b[i] = (m.b[i] & ~sign) | (m.b[i - 1] & sign);
    m.c = make_window(f_.c.floating, bias(f_.c) - 12, 12, f_.count_c, random_);
    return m;
  }

  MatrixOperands subnormal() {
    MatrixOperands m = plain(OperandClass::subnormal);
    if (random_.bits(1) != 0) { // products that do not vanish
      const int top = numeric::traits(f_.b.floating).max_biased_exponent() - 1;
      m.b = make_window(f_.b.floating, top - 3, 3, f_.count_b, random_);
    }
    return m;
  }

  MatrixOperands special() {
    MatrixOperands m = plain(random_.bits(1) != 0 ? OperandClass::ordinary : OperandClass::wide);
    const int rarity = 1 + static_cast<int>(random_.below(6));
    sprinkle(m.a, f_.a.floating, rarity);
    sprinkle(m.b, f_.b.floating, rarity);
    sprinkle(m.c, f_.c.floating, rarity);
    return m;
  }

  void sprinkle(std::vector<uint64_t>& values, FloatFormat format, int rarity) {
    const std::span<const uint64_t> list = special_values(format);
    for (uint64_t& value : values)
      if (random_.bits(rarity) == 0)
        value = list[random_.below(list.size())];
  }

  const MatrixFormats& f_;
  Random& random_;
};

} // namespace

size_t numbers_of(isa::Type type, size_t elements) {
  return type == isa::Type::b1 ? elements / 8 : elements;
}

std::vector<uint64_t> plane_elements(isa::Type type, std::vector<uint64_t> numbers) {
  if (isa::bits_of(type) != 4)
    return numbers;
  std::vector<uint64_t> bytes(numbers.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = numbers[2 * i] | numbers[2 * i + 1] << 4;
  return bytes;
}

OperandClass operand_class(std::string_view name) {
  const auto* found =
      std::find_if(std::begin(numeric::kAllOperandClasses), std::end(numeric::kAllOperandClasses),
                   [&](OperandClass one) { return numeric::to_string(one) == name; });
  assert(found != std::end(numeric::kAllOperandClasses));
  return *found;
}

MatrixOperands make_matrix_operands(const MatrixFormats& formats, OperandClass operand_class,
                                    Random& random) {
  if (formats.a.is_float())
    return FloatMatrices(formats, random).make(operand_class);
  MatrixOperands m;
  m.a = numeric::operands(formats.a.integer, operand_class, random, formats.count_a);
  m.b = numeric::operands(formats.b.integer, operand_class, random, formats.count_b);
  m.c = numeric::operands(formats.c.integer, operand_class, random, formats.count_c);
  return m;
}

} // namespace lemma::golden
