// The cp.async of a warp that are in flight, where they complete as late as they may (AsyncMode::late) and
// nobody watches them. What AsyncQueue does for every operation (async.h) would take most of the time here:
// there are 32 copies an instruction. So those of one instruction are one record, and a group is a number.
//
// A copy was checked when it was issued. Its source is read when it completes: a copy reads global memory and
// writes shared memory, so that no copy of a group reads what another writes.
//
// PTX ISA: "Data Movement and Conversion Instructions: cp.async". Tests: tests/unit/vgpu/async_copy_test.cc.
#pragma once

#include "support/memory_budget.h"
#include "vgpu/memory/access.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace lemma::vgpu {

struct Cta;

// What lanes of a warp copy by one instruction, to the shared memory of their CTA.
struct LateCopy {
  LaneMask lanes = 0; // whose copies have yet to be done
  LaneMask taken = 0; // of which these have a source; the others write zeros
  uint32_t bytes = 0; // of each
  Cta* cta = nullptr;
  std::array<uint32_t, kWarpSize> group; // of each lane: the groups that it had committed before
  std::array<uint32_t, kWarpSize> to;    // offsets in the CTA's shared memory
  std::array<const std::byte*, kWarpSize> from;
  // Of one lane, which copies fewer bytes than it writes, or some that were never written.
  struct Odd {
    MemoryPlace to, from;
    uint32_t taken = 0;
  };
  std::optional<Odd> odd;
};

class LateCopies {
public:
  // A record for copies of these lanes to be issued, which the caller fills but for `group`.
  LateCopy& add(LaneMask lanes, MemoryBudget& budget);
  // The record is not needed: nothing was issued.
  void take_back() { copies_.pop_back(); }
  void commit(LaneMask lanes);
  // Completes the groups of these lanes but for the last `pending` ones of each. True: there was something to
  // do.
  bool wait(LaneMask lanes, uint64_t pending);
  // Completes all that these lanes have issued, committed or not.
  void complete(LaneMask lanes);
  // As it was made.
  void reset();

private:
  template <class IsDue>
  bool run(LaneMask lanes, IsDue is_due);

  std::vector<LateCopy> copies_; // in the order of issue; the first ones may be done
  size_t first_ = 0;             // that is not
  std::array<uint32_t, kWarpSize> committed_{};
  MemoryShare taken_; // for copies_
};

} // namespace lemma::vgpu
