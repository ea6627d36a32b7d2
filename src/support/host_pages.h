// What this process may do with pages of its own memory.
//
// Tests: tests/unit/support/host_pages_test.cc.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lemma {

enum class Writable : uint8_t { all, some, none };

// How much of the range the process may write: as the system says now (/proc/self/maps). What is mapped
// nowhere counts as what is beside it; all, if the system does not say.
Writable writable_part(const std::byte* begin, uint64_t bytes);

} // namespace lemma
