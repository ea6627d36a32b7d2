// Zero-column mask descriptors: fields and rules. See tensor_column_mask.h.
#include "layout/tensor_column_mask.h"

#include <algorithm>

namespace lemma::layout {
namespace {

constexpr BitRange kReserved[] = {{36, 38}, {62, 63}};
constexpr BitRange kHasMask{39, 39}, kSkipSpan{40, 47}, kUseSpan{48, 55}, kShift{56, 61};

} // namespace

TensorColumnMask TensorColumnMask::decode(uint64_t bits) {
  TensorColumnMask mask{.bits = bits,
                        .has_mask = kHasMask.of(bits) != 0,
                        .skip_span = static_cast<uint32_t>(kSkipSpan.of(bits)) + 1,
                        .use_span = static_cast<uint32_t>(kUseSpan.of(bits)) + 1,
                        .shift = static_cast<uint32_t>(kShift.of(bits))};
  for (size_t i = 0; i < mask.start_counts.size(); ++i) {
    mask.start_counts[i] = static_cast<uint8_t>(bits >> 8 * i);
    mask.zeros_first[i] = (bits >> (32 + i) & 1) != 0;
  }
  return mask;
}

std::optional<std::string> wrong(const TensorColumnMask& mask, uint32_t m, uint32_t max_shift) {
  const std::string name = fmt::format("zero-column-mask-desc {:#018x}", mask.bits);
  for (const BitRange& range : kReserved)
    if (const uint64_t value = range.of(mask.bits))
      return fmt::format("{}: reserved {} are {:#b}; legal: 0", name, range.words(), value);
  const uint32_t of_m = m == 32 ? 16 : 32;
  if (mask.shift > std::min(of_m, max_shift))
    return fmt::format("{}: column shift ({}) is {}; legal with M = {} and a maximum shift of {} in the "
                       "instruction descriptor: 0 to {}",
                       name, kShift.words(), mask.shift, m, max_shift, std::min(of_m, max_shift));
  return std::nullopt;
}

} // namespace lemma::layout
