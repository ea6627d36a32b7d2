// wgmma operations of a warp that are in flight.
//
// AsyncMode::late: an operation runs when the warp waits for its group. Until then its accumulators, and A in
// registers, are in flight: what it works on is `view`, the registers as they were at the last wgmma.fence
// with the results of earlier operations in it, and the warp's own registers keep what they held. A program
// that reads an accumulator too early, or does not fence what it wrote, gets other bits.
//
// AsyncMode::eager: nothing is ever in flight.
//
// PTX ISA: "Asynchronous Warpgroup Level Matrix Instructions": wgmma.fence, commit_group, wait_group.
// Tests: tests/unit/vgpu/wgmma_test.cc.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lemma::vgpu {

struct DecodedInst;
struct Frame;

struct WgmmaOperation {
  const DecodedInst* instruction = nullptr;
  uint64_t a_descriptor = 0; // 0: A is in registers
  uint64_t b_descriptor = 0;
  bool accumulates = false; // scale-d
};

// Matrices that were found to lie in written shared memory, so that loops check each once and the warps of a
// CTA share what they find: memory keeps its size, and what is written stays written.
class WgmmaChecks {
public:
  struct Matrix {
    uint64_t descriptor = 0;
    uint64_t rows = 0; // which of it; 0: nothing yet
    friend bool operator==(const Matrix&, const Matrix&) = default;
  };
  bool contains(const Matrix& matrix) const {
    const size_t first = set_of(matrix);
    return std::find(&found_[first], &found_[first] + kWays, matrix) != &found_[first] + kWays;
  }
  void insert(const Matrix& matrix) {
    found_[set_of(matrix) + next_] = matrix;
    next_ = (next_ + 1) % kWays;
  }

private:
  // Several ways, so that the stages of a pipeline, two matrices of a few steps each, do not push each other
  // out.
  static constexpr size_t kSets = 64, kWays = 4;
  static size_t set_of(const Matrix& matrix) { // the top 6 bits of a Fibonacci hash
    return ((matrix.descriptor ^ matrix.rows << 7) * 0x9e3779b97f4a7c15 >> 58) * kWays;
  }
  std::array<Matrix, kSets * kWays> found_{};
  size_t next_ = 0; // way to give up
};

struct WgmmaState {
  const Frame* frame = nullptr; // whose registers `view` shows
  std::vector<std::byte> view;  // as the frame's data; empty: no wgmma.fence yet
  std::vector<WgmmaOperation> open;
  std::vector<std::vector<WgmmaOperation>> committed; // groups, oldest first

  bool in_flight() const { return !open.empty() || !committed.empty(); }
};

} // namespace lemma::vgpu
