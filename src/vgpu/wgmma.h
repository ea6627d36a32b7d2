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

struct WgmmaState {
  // Matrices that were found to lie in written shared memory, so that loops check each descriptor once.
  struct Checked {
    uint64_t descriptor = 0;
    uint64_t matrix = 0; // which rows of it; 0: nothing yet
  };
  std::array<Checked, 64> checked{};
  Checked& checked_for(uint64_t descriptor) {
    return checked[descriptor * 0x9e3779b97f4a7c15 >> 58]; // the top 6 bits of a Fibonacci hash
  }

  const Frame* frame = nullptr; // whose registers `view` shows
  std::vector<std::byte> view;  // as the frame's data; empty: no wgmma.fence yet
  std::vector<WgmmaOperation> open;
  std::vector<std::vector<WgmmaOperation>> committed; // groups, oldest first

  bool in_flight() const { return !open.empty() || !committed.empty(); }
};

} // namespace lemma::vgpu
