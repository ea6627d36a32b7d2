// Lanes of one width made into lanes of another, and masks of lanes made into values.
//
// Tests: tests/unit/vgpu/convert_test.cc, emitters_test.cc, through compiled code.
#pragma once

#include "vgpu/compiled/emit.h"

#include <array>
#include <cstring>

namespace lemma::vgpu {

using TwoParts = std::array<x86::Zmm, 2>; // of a value of 32 bits

// 64 bytes of the pool that hold numbers of type T, f(i) the i-th.
template <class T, class F>
x86::Mem numbers(Emit& e, F f) {
  std::array<std::byte, kPartBytes> bytes{};
  for (size_t i = 0; i < kPartBytes / sizeof(T); ++i) {
    const T value = static_cast<T>(f(i));
    std::memcpy(&bytes[i * sizeof(T)], &value, sizeof value);
  }
  return e.vector(bytes);
}

// to = those lanes of `from` that belong to the part of values of more bytes, extended.
void widen_part(Emit& e, const x86::Zmm& to, const Value& from, int part, int bytes, bool is_signed);

// to = every second of the elements of so many bytes, 2 or 4, of `low` and then `high`, which it is neither
// of.
void take_every_second(Emit& e, const x86::Zmm& to, const x86::Zmm& low, const x86::Zmm& high, int bytes,
                       bool odd);
// to = elements of so many bytes, 2 to 8, in turn of the first or second halves of `low` and `high`.
void interleave(Emit& e, const x86::Zmm& to, const x86::Zmm& low, const x86::Zmm& high, int bytes,
                int second_half);

// Temporaries for values of so many bytes.
Value temporaries(Emit& e, int lane_bytes);

// The values in lanes of so many bytes: extended, or their low bits. In temporaries, or `from` as it is.
Value resized(Emit& e, const Value& from, int bytes, bool is_signed);
// ... into `to`, whose registers are none of those of `from` unless the lanes have one width.
void resize(Emit& e, const Value& to, const Value& from, bool is_signed);

// The lanes of 32 that belong to the part of values of so many bytes.
void part_of_mask(Emit& e, const x86::KReg& to, const x86::Gp& lanes, int lane_bytes, int part);

// Moves `from` where the mask is set.
void move_under(Emit& e, const x86::KReg& mask, int lane_bytes, const x86::Zmm& to, const x86::Zmm& from);

// to = the number in all its lanes, of 2, 4 or 8 bytes.
void fill(Emit& e, const x86::Zmm& to, int lane_bytes, uint64_t value);

} // namespace lemma::vgpu
