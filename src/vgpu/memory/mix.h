// A hash of one word (the finalizer of SplitMix64), by which the seed moves the choices of the schedule.
#pragma once

#include <cstdint>

namespace lemma::vgpu {

inline uint64_t mix(uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

} // namespace lemma::vgpu
