// Work on a long range of memory, which one thread of the host takes too long for.
//
// Tests: tests/unit/support/in_parts_test.cc.
#pragma once

#include <cstdint>
#include <functional>

namespace lemma {

// Calls f(begin, count) for ranges that together are [0, bytes) and do not overlap, in any order; returns
// when all calls have. A range of less than 4 MiB is one call, on this thread; a longer one is several, on as
// many threads as the process may use processors, but no more than eight. f must not throw.
void in_parts(uint64_t bytes, const std::function<void(uint64_t begin, uint64_t count)>& f);

} // namespace lemma
