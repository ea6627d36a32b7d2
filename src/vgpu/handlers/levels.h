// Which instruction-set level of the host the lane loops run at. Every arithmetic kernel is compiled once for
// each level (levels.inc) and the best one that the CPU has is taken when a program is decoded.
//
// Tests: tests/unit/vgpu/ (every family runs at every level the host has).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lemma::vgpu {

enum class HostLevel : uint8_t {
  baseline, // SSE2
  avx2,     // AVX2, FMA, F16C
  avx512,   // AVX-512 F, BW, CD, DQ, VL
};
inline constexpr int kHostLevels = 3;

std::string_view to_string(HostLevel level);

// The levels that this host can run, lowest first. Always holds baseline.
const std::vector<HostLevel>& host_levels();

// The level in force: the highest, unless set. Setting affects what is decoded afterwards; for tests.
HostLevel host_level();
void set_host_level(HostLevel level);

} // namespace lemma::vgpu
