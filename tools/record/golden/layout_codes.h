// Numbers that tell places: element p of a plane holds p + 1, in digits small enough that every type has them
// exactly and a sum with one of them is exact. And planes by place, whatever the elements' size.
//
// Tests: tests/golden/layout_test.cc reads what is made with these back from the cases' inputs.
#pragma once

#include "golden/case.h"

#include <algorithm>

namespace lemma::golden {

// Every whole number of so many bits is a number of the type.
int digit_bits(isa::Type type);
// Digits of the numbers 1 to `count`, each of digit_bits().
int digits_of(isa::Type type, uint64_t count);
// Digit `digit` of the code of place `place`, as bits of the type.
uint64_t place_digit(isa::Type type, uint64_t place, int digit);
// A whole number as bits of the type.
uint64_t number_bits(isa::Type type, uint64_t value);

// One unit of a plane whose elements lie one after another, in `element_bits` each.
class PlaneUnit {
public:
  PlaneUnit(const Plane& plane, int element_bits)
      : bytes_(plane.unit_bytes()), per_unit_(plane.per_unit), element_bytes_(plane.element_bytes),
        element_bits_(element_bits) {}
  uint64_t places() const { return bytes_.size() * 8 / static_cast<uint64_t>(element_bits_); }
  void clear() { std::fill(bytes_.begin(), bytes_.end(), uint8_t{0}); }
  void set(uint64_t place, uint64_t bits);
  void write(Inputs& inputs, size_t plane, uint64_t unit) const;

private:
  std::vector<uint8_t> bytes_;
  uint64_t per_unit_;
  uint32_t element_bytes_;
  int element_bits_;
};

} // namespace lemma::golden
