// The mbarrier object: a 64-bit word in shared memory that counts the arrivals and bytes of a phase.
//
//   bit 63       parity of the current phase
//   bits 62..43  minus the pending arrivals
//   bits 41..21  minus the pending bytes (tx-count)
//   bits 20..1   minus the arrivals that each phase expects
//   bit 0        its layout is .layout::v1
//
// That is how an H200 lays it out (read back from one after sequences of arrivals), but for
// bit 0: where .layout::v1 has what is Lemma's own choice. It counts as the other does, with fewer arrivals.
// Nothing here reports to an mbarrier, so that its conditional phase is its primary one and reports are zero.
// A state token is the word as it was before the arrival.
//
// A phase is complete when it has neither pending arrivals nor pending bytes; the next one then begins with
// the expected count.
//
// PTX ISA: "Parallel Synchronization and Communication Instructions: mbarrier". Tests:
// tests/unit/vgpu/mbarrier_test.cc.
#pragma once

#include "vgpu/engine/launch.h"

#include <cstdint>
#include <optional>
#include <string>

namespace lemma::vgpu {

inline constexpr uint32_t kMbarrierMaxCount = (1u << 20) - 1;
inline constexpr uint32_t kMbarrierMaxCountV1 = (1u << 9) - 1; // of .layout::v1
inline constexpr uint32_t kMbarrierBytes = 8;

struct Mbarrier {
  bool parity = false;       // of the current phase
  uint32_t pending = 0;      // arrivals that the phase still waits for
  int32_t pending_bytes = 0; // tx-count: may be negative, bytes may come before they are expected
  uint32_t expected = 0;     // arrivals of each phase
  bool is_v1 = false;        // .layout::v1

  static Mbarrier decode(uint64_t word);
  uint64_t encode() const;
};

// Of places in shared memory, multiples of 8:
Mbarrier read_mbarrier(const SharedPlace& at);
// True if there is an object: initialized, and not invalidated since.
bool is_mbarrier(const SharedPlace& at);
void init_mbarrier(const SharedPlace& at, uint32_t count, bool is_v1 = false);
void inval_mbarrier(const SharedPlace& at);

// What an operation does to an object: first the bytes that it expects or completes, then the arrivals.
struct MbarrierChange {
  uint32_t arrivals = 0;
  uint32_t dropped = 0;     // of the arrivals: future phases expect fewer
  int64_t expect_bytes = 0; // complete_tx: negative
};

// Why the object cannot take the change: a count would leave its range, or more arrive than the phase waits
// for.
std::optional<std::string> wrong_change(const SharedPlace& at, const MbarrierChange& change);
// Applies the change, in which nothing is wrong. If that completes the phase, the next one begins, those who
// wait are woken, and it returns true.
bool change_mbarrier(const SharedPlace& at, const MbarrierChange& change);

// cp.async.mbarrier.arrive without .noinc: the current phase waits for one arrival more.
void expect_arrival(const SharedPlace& at);

} // namespace lemma::vgpu
