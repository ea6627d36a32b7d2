// How the outputs of matrix instructions were computed: what dot() returns and a launch adds up.
//
// Tests: tests/unit/numeric/dot_test.cc.
#pragma once

#include <cstdint>

namespace lemma::numeric {

// How many outputs took which way. All give the same bits; they differ in time.
struct DotPaths {
  uint64_t vector = 0;  // the loops for ordinary numbers, many outputs at a time
  uint64_t careful = 0; // vectors too, for any finite numbers
  uint64_t scalar = 0;  // one output after another

  uint64_t total() const { return vector + careful + scalar; }
  DotPaths& operator+=(const DotPaths& other) {
    vector += other.vector;
    careful += other.careful;
    scalar += other.scalar;
    return *this;
  }
};

} // namespace lemma::numeric
