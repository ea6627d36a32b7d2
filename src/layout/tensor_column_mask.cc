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

std::vector<DescriptorField> explain(const TensorColumnMask& mask) {
  constexpr std::string_view kStarts[] = {"start count 0", "start count 1", "start count 2", "start count 3"};
  constexpr std::string_view kFirsts[] = {"first span 0", "first span 1", "first span 2", "first span 3"};
  std::vector<DescriptorField> list;
  const auto field = [&](std::string_view name, BitRange range, std::string meaning) {
    list.push_back({name, range.to_string(), range.of(mask.bits), std::move(meaning)});
  };
  const auto reserved = [&](BitRange range) {
    field("reserved", range, range.of(mask.bits) ? "must be 0" : "");
  };
  const auto range_at = [](size_t first, size_t bits) {
    return BitRange{static_cast<uint8_t>(first), static_cast<uint8_t>(first + bits - 1)};
  };
  for (size_t i = 0; i < mask.start_counts.size(); ++i)
    field(kStarts[i], range_at(8 * i, 8), fmt::format("{} columns are past", mask.start_counts[i]));
  for (size_t i = 0; i < mask.zeros_first.size(); ++i)
    field(kFirsts[i], range_at(32 + i, 1), mask.zeros_first[i] ? "zeros" : "columns that are used");
  reserved(kReserved[0]);
  field("mask", kHasMask, mask.has_mask ? "there is one" : "none: every column is used");
  field("skip span", kSkipSpan, fmt::format("{} columns are zeros", mask.skip_span));
  field("use span", kUseSpan, fmt::format("{} columns are used", mask.use_span));
  field("column shift", kShift, fmt::format("{} columns", mask.shift));
  reserved(kReserved[1]);
  return list;
}

} // namespace lemma::layout
