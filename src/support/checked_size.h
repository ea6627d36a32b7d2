// Sizes and offsets that programs give, computed with: what does not fit 64 bits stays so through all that
// follows, until value() says it.
//
// Tests: tests/unit/support/checked_size_test.cc.
#pragma once

#include <cstdint>
#include <optional>

namespace lemma {

class CheckedSize {
public:
  constexpr CheckedSize(uint64_t value) : value_(value) {}
  // Nothing: it does not fit.
  constexpr std::optional<uint64_t> value() const { return fits_ ? std::optional(value_) : std::nullopt; }

  friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) {
    CheckedSize sum = 0;
    const bool wraps = __builtin_add_overflow(a.value_, b.value_, &sum.value_);
    sum.fits_ = a.fits_ && b.fits_ && !wraps;
    return sum;
  }
  // 0 times what does not fit does not fit either.
  friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) {
    CheckedSize product = 0;
    const bool wraps = __builtin_mul_overflow(a.value_, b.value_, &product.value_);
    product.fits_ = a.fits_ && b.fits_ && !wraps;
    return product;
  }
  // The next multiple of `align`, which is not 0.
  friend constexpr CheckedSize align_up(CheckedSize value, uint64_t align) {
    CheckedSize above = value + (align - 1);
    above.value_ -= above.value_ % align;
    return above;
  }
  // What does not fit is more than anything.
  friend constexpr bool operator<=(CheckedSize a, uint64_t most) { return a.fits_ && a.value_ <= most; }
  friend constexpr bool operator>(CheckedSize a, uint64_t most) { return !(a <= most); }

private:
  uint64_t value_;
  bool fits_ = true;
};

} // namespace lemma
