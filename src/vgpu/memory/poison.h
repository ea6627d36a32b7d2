// What stands in memory and registers that a program has never written: bytes that depend on the launch's
// seed and on the place alone - not on the host, on who ran before, or on the order of CTAs - so that a
// program that reads them repeats, and gives something else with another seed.
//
// A place is a byte offset under a key; the key says of what: the shared memory of a CTA, an allocation, the
// frame or the local memory of a warp. Cheap rather than random: a Weyl sequence of 64-bit words with the
// high bits folded in, which compilers turn into vector stores.
//
// Tests: tests/unit/vgpu/unwritten_test.cc.
#pragma once

#include "vgpu/memory/mix.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lemma::vgpu {

enum class Poisoned : uint8_t { global = 1, heap, shared, warp, frame, local, tensor };

inline uint64_t poison_key(uint64_t outer, Poisoned kind, uint64_t which) {
  return mix(mix(outer + static_cast<uint64_t>(kind) * 0x9e3779b97f4a7c15u) + which);
}

inline uint64_t poison_word(uint64_t key, uint64_t index) {
  const uint64_t word = key + index * 0x9e3779b97f4a7c15u;
  return word ^ (word >> 29);
}

inline std::byte poison_byte(uint64_t key, uint64_t offset) {
  return static_cast<std::byte>(poison_word(key, offset / 8) >> (offset % 8 * 8));
}

// Bytes [offset, offset + bytes) of the key's places, to `memory`.
inline void poison(std::byte* memory, uint64_t key, uint64_t offset, uint64_t bytes) {
  for (; bytes != 0 && offset % 8 != 0; --bytes)
    *memory++ = poison_byte(key, offset++);
  const uint64_t words = bytes / 8;
  uint64_t i = 0;
#if defined(__GNUC__)
  // Two words at a time, four times over: every CTA's shared memory is filled so.
  typedef uint64_t Pair __attribute__((vector_size(16)));
  constexpr uint64_t kStep = 0x9e3779b97f4a7c15u, kUnroll = 8;
  const uint64_t first = key + offset / 8 * kStep;
  Pair at = {first, first + kStep};
  for (; i + kUnroll <= words; i += kUnroll)
    for (uint64_t j = 0; j < kUnroll; j += 2) {
      const Pair pair = at ^ (at >> 29);
      std::memcpy(memory + 8 * (i + j), &pair, sizeof pair);
      at += 2 * kStep;
    }
#endif
  for (; i < words; ++i) {
    const uint64_t word = poison_word(key, offset / 8 + i);
    std::memcpy(memory + 8 * i, &word, sizeof word);
  }
  for (i = 8 * words; i < bytes; ++i)
    memory[i] = poison_byte(key, offset + i);
}

} // namespace lemma::vgpu
