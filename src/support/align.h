// The next multiple of an alignment.
#pragma once

#include <cstdint>

namespace lemma {

// The least multiple of `align` that is no less than `value`; the value where there is no alignment (0).
// value + align fits.
constexpr uint64_t align_up(uint64_t value, uint64_t align) {
  return align ? (value + align - 1) / align * align : value;
}

} // namespace lemma
