// What the handlers of matrix instructions share: tiles, registers of fragments, the warp that must be whole.
//
// PTX ISA: "Warp Level Matrix Multiply-Accumulate Instructions". Tests: tests/unit/vgpu/matrix_test.cc.
#pragma once

#include "ptx/module.h"
#include "vgpu/engine/exec.h"

#include <cstddef>
#include <span>

namespace lemma::vgpu {

inline constexpr int kMaxFragmentRegisters = 8;
inline constexpr size_t kMaxTileBytes = 2048; // 16 x 16 f64

struct alignas(64) Tile {
  std::byte bytes[kMaxTileBytes];
};

// True when the lanes are all there; else the handler returns `step`.
bool whole_warp(Exec& x, const DecodedInst& in, Step& step);

// Register `first` onwards of the sources respectively destinations.
inline void source_lanes(const Exec& x, const DecodedInst& in, int first, int count, const std::byte** out) {
  for (int i = 0; i < count; ++i)
    out[i] = x.src<std::byte>(in, first + i);
}
inline void destination_lanes(const Exec& x, const DecodedInst& in, int count, std::byte** out) {
  for (int i = 0; i < count; ++i)
    out[i] = x.dst<std::byte>(in, i);
}

} // namespace lemma::vgpu
