// What a launch on the virtual GPU has to say: faults, deadlocks, reads of what was never written, counts.
//
// Plain data; src/runtime turns it into the public report and tools/ print it.
//
// Tests: tests/unit/vgpu/.
#pragma once

#include "numeric/dot_paths.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lemma::vgpu {

using Dim3 = std::array<uint32_t, 3>;

enum class FaultKind : uint8_t {
  none,
  out_of_bounds, // no allocation holds the whole access
  misaligned,    // address is not a multiple of what the access needs
  read_only,     // store to .const or kernel parameters
  wrong_space,   // an address of another state space
  trap,          // trap executed
  breakpoint,    // brkpt executed: nobody is there to catch it
  assertion,     // __assertfail
  call_too_deep, // call stack or local memory exhausted
  bad_call,      // indirect call or brx.idx to what is no target
  too_many_instructions,
  out_of_memory, // --max-memory, or the host's end
  deadlock,
  illegal_instruction, // what the ISA leaves undefined or the hardware refuses at run time
  unsupported,         // legal, not modelled
  internal,
};

// "out of bounds", "misaligned address", ...
const char* to_string(FaultKind kind);

// A place in the program: the PTX line and, where .loc says so, the line of the source it was compiled from.
struct SourcePlace {
  uint32_t ptx_line = 0;   // 1-based; 0: unknown
  std::string instruction; // the PTX statement, one line
  std::string file;        // of the .loc in force; empty: none
  uint32_t line = 0;
  std::vector<std::string>
      inlined_at; // "file:line" of the calls that inlined code came in by, innermost first
  std::string function;
};

struct Fault {
  FaultKind kind = FaultKind::none;
  std::string message;            // one line, complete: what happened
  std::vector<std::string> notes; // further lines: nearest allocation, what to do
  SourcePlace place;
  bool has_thread = false; // cta, warp and lane say who; else it is nobody's in particular
  Dim3 cta{};
  uint32_t warp = 0;
  int32_t lane = -1; // -1: the warp as a whole
  uint64_t address = 0;
  bool has_address = false;
};

// One warp (or a part of it) that cannot go on.
struct Waiting {
  SourcePlace place;
  Dim3 cta{};
  uint32_t warp = 0;
  uint32_t lanes = 0;             // mask
  std::string reason;             // "barrier 0: 96 of 128 threads have arrived"
  std::vector<std::string> notes; // who could have completed it: "missing: warp 3 has exited"
};

struct UninitializedRead {
  SourcePlace place;
  Dim3 cta{};
  uint32_t warp = 0;
  int32_t lane = 0;
  std::string what;   // "register %r5", "shared memory at 0x410", "buffer 'arg 2' at byte 64"
  uint64_t count = 0; // reads at this instruction
};

struct LaunchStats {
  uint64_t warp_instructions = 0;
  uint64_t lane_instructions = 0; // one for each lane that executed
  uint64_t matrix_flops = 0;      // 2*M*N*K a matrix instruction
  numeric::DotPaths matrix_paths; // how their outputs were computed
  double seconds = 0;
};

struct LaunchReport {
  Fault fault;                                  // kind none: the launch finished
  std::vector<Waiting> waiting;                 // for a deadlock, all that wait
  std::vector<UninitializedRead> uninitialized; // the first ten instructions
  uint64_t uninitialized_reads = 0;
  std::vector<std::string> warnings; // e.g. an approximate function's note, printed once
  LaunchStats stats;
  bool used_approximate = false; // an approximate function (.approx, .full) ran
  bool ok() const { return fault.kind == FaultKind::none; }
};

} // namespace lemma::vgpu
