// Bytes of memory that threads of other clusters, on other host threads, may access meanwhile, and copies of
// the host's: a kernel may race, and what is copied is then any of what was there.
//
// Tests: sanitized.capi, sanitized.vgpu of the preset tsan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace lemma::vgpu {

// A plain copy; under ThreadSanitizer, which would call that a race of the host's, what the language has for
// it.
inline void copy_racing(std::byte* to, const std::byte* from, size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  for (size_t i = 0; i < bytes; ++i)
    __atomic_store_n(to + i, __atomic_load_n(from + i, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
#else
  std::memcpy(to, from, bytes);
#endif
}

inline void fill_racing(std::byte* to, uint8_t value, size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  for (size_t i = 0; i < bytes; ++i)
    __atomic_store_n(to + i, std::byte{value}, __ATOMIC_RELAXED);
#else
  std::memset(to, value, bytes);
#endif
}

} // namespace lemma::vgpu
