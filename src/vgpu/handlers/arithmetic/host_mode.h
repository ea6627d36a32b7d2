// The mode of the host's floating-point unit while a kernel runs: rounding direction, flushing of subnormals.
//
// PTX `.ftz` is the host's FTZ with DAZ: inputs that are subnormal and results that are tiny become zeros of
// the same sign, and a result is tiny if it is below the normal range after rounding with an unbounded
// exponent. ptxas states that boundary itself where it emulates cvt.ftz.f32.f64: below 2^-126 * (1 - 2^-25).
//
// Tests: tests/unit/vgpu/float_test.cc.
#pragma once

#include "isa/vocabulary.h"

#include <cstdint>
#include <xmmintrin.h>

namespace lemma::vgpu {

// MXCSR: all exceptions masked, then
//
//   | 15  | 14..13                          | 12..7          | 6   | 5..0  |
//   | FTZ | rounding: 0 rn, 1 rm, 2 rp, 3 rz | exception masks | DAZ | flags |
inline constexpr uint32_t kHostDefaultMode = 0x1f80;

constexpr uint32_t host_mode(isa::Qual rounding, bool ftz) {
  uint32_t mode = kHostDefaultMode;
  switch (rounding) {
  case isa::Qual::rm:
  case isa::Qual::rmi:
    mode |= 1u << 13;
    break;
  case isa::Qual::rp:
  case isa::Qual::rpi:
    mode |= 2u << 13;
    break;
  case isa::Qual::rz:
  case isa::Qual::rzi:
    mode |= 3u << 13;
    break;
  default:
    break;
  }
  return ftz ? mode | 0x8040 : mode;
}

// Sets the mode for its scope. The memory clobbers keep the loads of operands and the stores of results
// inside.
class HostMode {
public:
  [[gnu::always_inline]] explicit inline HostMode(uint32_t mode) {
    asm volatile("ldmxcsr %0" : : "m"(mode) : "memory");
  }
  [[gnu::always_inline]] inline ~HostMode() {
    const uint32_t mode = kHostDefaultMode;
    asm volatile("ldmxcsr %0" : : "m"(mode) : "memory");
  }
  HostMode(const HostMode&) = delete;
  HostMode& operator=(const HostMode&) = delete;
};

} // namespace lemma::vgpu
