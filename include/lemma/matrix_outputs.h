// Which way the outputs of matrix instructions took through the virtual GPU.
//
// Tests: tests/unit/numeric/dot_test.cc.
#pragma once

#include <cstdint>

namespace lemma {

// How many outputs took which way. All give the same bits; they differ in time.
struct MatrixOutputs {
  uint64_t vector = 0;  // the loops for ordinary numbers, many outputs at a time
  uint64_t careful = 0; // vectors too, for any finite numbers
  uint64_t scalar = 0;  // one output after another

  uint64_t total() const { return vector + careful + scalar; }
  MatrixOutputs& operator+=(const MatrixOutputs& other) {
    vector += other.vector;
    careful += other.careful;
    scalar += other.scalar;
    return *this;
  }
};

} // namespace lemma
