// Memory that matrix products need while they run, kept from one to the next: a warp's product is small, and
// allocation would show.
//
// Tests: tests/unit/numeric/dot_test.cc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lemma::numeric {
namespace internal {

// Room that starts at a line of the cache, for whatever type it is asked for.
class Lines {
public:
  // Room for `count` of T, of unknown contents; what was there before is gone.
  template <class T>
  T* make(size_t count) {
    static_assert(alignof(T) <= alignof(Line));
    const size_t lines = (count * sizeof(T) + sizeof(Line) - 1) / sizeof(Line);
    if (lines > lines_.size())
      lines_.resize(lines);
    return reinterpret_cast<T*>(lines_.data());
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(lines_.data());
  }

private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  std::vector<Line> lines_;
};

} // namespace internal

// One for each thread that multiplies, for all of its products, whatever their plans. dot() leaves nothing in
// it that the next product asks for.
class DotScratch {
public:
  // What is needed at the same time as the others.
  enum class Use : uint8_t {
    loops,    // operands as the vector loops take them
    scalar,   // operands as the scalar code takes them
    dense_a,  // a sparse A with its zeros
    operands, // A and B in rows, of those that lie in blocks
    outputs,  // C and D likewise
  };
  // Room for `count` of T, of unknown contents, until it is asked for the same use again.
  template <class T>
  T* make(Use use, size_t count = 1) {
    return rooms_[static_cast<size_t>(use)].make<T>(count);
  }

private:
  std::array<internal::Lines, 5> rooms_;
};

} // namespace lemma::numeric
