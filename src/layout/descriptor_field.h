// One field of a descriptor as something to print: which bits it has, its value, and what that means.
//
// Not here: which fields a descriptor has; explain() of each says that. Tests:
// tests/unit/layout/tensor_instruction_descriptor_test.cc.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace lemma::layout {

// Bits `first` to `last` of a descriptor.
struct BitRange {
  uint8_t first = 0, last = 0;

  constexpr uint64_t of(uint64_t descriptor) const {
    return descriptor >> first & ((uint64_t{2} << (last - first)) - 1);
  }
  std::string to_string() const {
    return first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
  }
  // As a message has it.
  std::string words() const { return (first == last ? "bit " : "bits ") + to_string(); }
};

struct DescriptorField {
  std::string_view name; // "N"
  std::string bits;      // "17-22"
  uint64_t value = 0;    // as the bits have it
  std::string meaning;   // "8"
};

} // namespace lemma::layout
