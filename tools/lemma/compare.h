// What an output holds against what it should hold, element by element.
//
// Elements are those of the expected array's dtype (|V2 counts as bfloat16, complex numbers as two floats).
// Without a tolerance the bits must be equal, so 0.0 and -0.0 differ, and so do two NaNs of other bits. With
// one, |got - want| must not be above it; NaN matches NaN, an infinity itself.
//
// Tests: tests/cli/.
#pragma once

#include "lemma/npy.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lemma::cli {

struct Difference {
  uint64_t element = 0; // flat index
  std::string index;    // "[3, 17]"; empty for one dimension
  std::string got;      // "0x3f800001 (1.0000001)"
  std::string want;
};

struct Comparison {
  bool equal = false;
  std::string type; // "f32"
  uint64_t elements = 0;
  uint64_t different = 0;
  std::vector<Difference> first; // at most ten
  std::string problem;           // not comparable: sizes differ
};

Comparison compare(std::span<const std::byte> got, const npy::Array& want, std::optional<double> tolerance);

// For a terminal, one line and one a difference; ends with a newline.
std::string render(const Comparison& comparison, const std::string& got_name, const std::string& want_name);

} // namespace lemma::cli
