// What a launch has to say: how it ended, where it faulted, what it read before it was written, what it took.
//
// On "cpu" everything here is filled in. A real GPU knows less: a fault has a kind and no place, only the
// time is counted, and reads of what was never written go unseen.
//
// Plain data: the virtual GPU fills it in, and src/runtime adds what a terminal shows.
//
// Tests: tests/unit/runtime/api_test.cc, tests/unit/vgpu/, tests/cli/.
#pragma once

#include "lemma/launch.h"
#include "lemma/matrix_outputs.h"
#include "lemma/message.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

enum class Outcome : uint8_t {
  finished,    // every CTA ran to its end
  fault,       // the kernel did what it must not do; `Report::fault` says what
  unsupported, // it reached an instruction that is legal and not modelled
  internal,    // a bug of Lemma
  stopped,     // LaunchConfig::stop was set; `Report::waiting` says where the warps were
};

// "finished", "fault", "unsupported", "internal", "stopped".
std::string_view to_string(Outcome outcome);

// A line of the source, and the function that it stands in.
struct SourceFrame {
  std::string file;
  uint32_t line = 0;            // 1-based
  std::string function;         // as the PTX spells it: "_ZN3cub..."; empty: it does not name it
  std::string source_text = {}; // of the line, without its indentation; empty: it cannot be read
};

// A place in the program: the PTX line and, where .loc says so, the line of the source it was compiled from.
struct Place {
  uint32_t ptx_line = 0;   // 1-based; 0: unknown
  std::string instruction; // the PTX statement, one line
  std::string file;        // of the source; empty: the PTX has no .loc there
  uint32_t line = 0;
  std::string function;         // of the PTX
  std::string source_text = {}; // as SourceFrame's
  // Where an inlined function was called, innermost first: the last call stands in `function`. `file` and
  // `line` are in `inlined_function`, which is empty where nothing was inlined, or the PTX does not name it.
  std::vector<SourceFrame> inlined_at = {};
  std::string inlined_function = {};
  bool in_program = false; // of a Triton kernel: its source knows a CTA as a program, by tl.program_id
};

// Who is there: "CTA 3,0,0, warp 1, lane 4"; of a Triton kernel "program (3, 0, 0), warp 1, lane 4", which
// are tl.program_id(0), (1) and (2). `lane` -1: the warp as a whole.
std::string thread_text(const Place& place, const Dim3& cta, uint32_t warp, int32_t lane = -1);

// The lines of the source behind a place, the innermost first; none if the PTX has no .loc there.
std::vector<SourceFrame> frames_of(const Place& place);

// Which of frames_of() is the user's own line: the innermost that is in no header of the system, of a CUDA
// toolkit, of CUTLASS, CUB or Thrust, and in no Python package, else the outermost. 0 if there are none.
size_t users_frame(const Place& place);

enum class FaultKind : uint8_t {
  out_of_bounds,         // no allocation holds the whole access
  misaligned,            // the address is not a multiple of what the access needs
  read_only,             // store to .const or kernel parameters
  wrong_space,           // an address of another state space
  trap,                  // trap executed
  breakpoint,            // brkpt executed: nobody is there to catch it
  assertion,             // __assertfail
  call_too_deep,         // call stack or local memory exhausted
  bad_call,              // indirect call or brx.idx to what is no target
  too_many_instructions, // LaunchConfig::max_instructions
  out_of_memory,         // DeviceOptions::max_memory_bytes, or the host's end
  deadlock,
  illegal_instruction, // what the ISA leaves undefined or the hardware refuses at run time
  timeout,             // cuda: the driver's watchdog
  launch_failed,       // cuda: the driver says no more; a trap, for one
  stopped,             // no fault: the place is nobody's (Outcome::stopped)
  unsupported,         // legal, not modelled
  internal,            // a bug of Lemma
};

// "out of bounds", "misaligned address", "deadlock", ...
std::string_view to_string(FaultKind kind);

struct Fault {
  FaultKind kind = FaultKind::internal;
  std::string_view id = {}; // of docs/checks.md, as Finding::id: "barrier.divergent"; empty: none of those
  std::string message;      // one line
  std::vector<std::string> notes = {}; // further lines: the nearest allocation, what to do
  Place place;
  bool has_thread = false; // whether cta, warp and lane are known
  Dim3 cta{};
  uint32_t warp = 0; // in the CTA
  int32_t lane = -1; // -1: the warp as a whole
  std::optional<uint64_t> address = {};
};

// A warp, or lanes of one, that can never go on; of a launch that was stopped, where it was.
struct Waiting {
  Place place;
  Dim3 cta{};
  uint32_t warp = 0;
  uint32_t lanes = 0; // mask
  std::string reason; // "barrier 0: 96 of 128 threads have arrived"; empty: it was running (stopped)
  std::vector<std::string> notes = {}; // who could have completed it: "missing: warp 3 has exited"
};

// Reads, by one instruction, of what was never written. `cta`, `warp` and `lane` are those of one such read.
struct UninitializedRead {
  Place place;
  Dim3 cta{};
  uint32_t warp = 0;
  int32_t lane = -1; // -1: the warp as a whole
  std::string what;  // "register %r5", "shared memory at 0x410", ...
  uint64_t count = 0;
};

// One of the accesses of a finding.
struct CheckedAccess {
  Place place;
  Dim3 cta{};
  uint32_t warp = 0;
  int32_t lane = -1; // -1: the warp as a whole
  std::string what;  // "writes 4 bytes", "tensor load writes, in the async proxy"
  // Of the lane's access, where one is known.
  std::optional<uint64_t> address = {};
  std::string value = {}; // that it read or wrote: "0x3f800000"; empty: not known
};

// Who has to come to the barrier that a finding advises; `none`: it advises something else.
enum class Barrier : uint8_t { none, warp, cta, cluster };

// Instructions more in the PTX; or another text for an opcode, an operand, or a whole instruction.
struct FindingRepair {
  enum class Where : uint8_t { before, behind, instead } where = Where::before;
  Place place; // of the instruction, or declaration, that it is put before or behind, or is a part of
  std::string replaced = {}; // `instead`: what stands there
  Repair edit;               // of the PTX, with the line breaks that it takes
};
// "before", "behind", "instead".
std::string_view to_string(FindingRepair::Where where);

// LaunchConfig::check: what the PTX ISA leaves undefined. One defect - an id and two instructions - is one.
// What to do with findings: lemma/findings.h, lemma/suppressions.h.
struct Finding {
  std::string id;                       // "race.shared": docs/checks.md has a section for each
  bool is_note = false;                 // the ISA leaves it doubtful
  std::string message;                  // one line
  std::string memory;                   // "tile + 0x40"
  CheckedAccess access;                 // that came second
  std::optional<CheckedAccess> earlier; // with which it is not ordered
  std::string fix;                      // the least that would order them
  Barrier barrier = Barrier::none;      // that `fix` is
  // `fix` as edits of the PTX, to be made all together; empty: it takes more than that, or has no one place.
  std::vector<FindingRepair> repairs = {};
  // Where one thing or another may be wrong, and nobody knows which: further such edits, each list of which
  // mends it in place of `repairs`.
  std::vector<std::vector<FindingRepair>> alternatives = {};
  uint64_t count = 0;        // how often it was seen
  std::string kernel = {};   // that was launched
  std::string ptx = {};      // the name that its text was loaded with
  std::string rendered = {}; // for a terminal, but for the count; ends with a newline
  // Of several schedules (lemma/explore.h): the first that has it, and how many have.
  uint64_t schedule = 0, schedules = 0;
  // An entry of a suppressions file stands for it, with this reason.
  bool suppressed = false;
  std::string suppressed_because = {};
};

// Accesses to memory, of one state space ("global", "const", "shared", "local", "param") and kind ("read",
// "write", "atomic"). Those of asynchronous operations are not among them.
struct AccessCount {
  std::string space, kind;
  uint64_t warp_accesses = 0; // one for each allocation, or CTA's shared memory, that an instruction reaches
  uint64_t lane_accesses = 0;
  uint64_t bytes = 0;
};

// Asynchronous operations of one kind ("cp.async", "tensor load", "wgmma").
struct AsyncCount {
  std::string kind;
  uint64_t operations = 0;
  uint64_t bytes = 0; // that they write, to every destination; wgmma: that it reads from shared memory
};

// How well the bits of an instruction are known.
enum class Fidelity : uint8_t {
  exact,       // the PTX ISA leaves no choice
  recorded,    // equal to what the hardware of that architecture has stored, in recorded cases
  published,   // as papers that measured it say; not recorded by us
  assumed,     // as another architecture's
  approximate, // may differ from the hardware's
};

// "exact", "recorded", "published", "assumed", "approximate".
std::string_view to_string(Fidelity fidelity);

// A form of instruction that the launch executed.
struct ExecutedForm {
  std::string form; // "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
  Fidelity fidelity = Fidelity::exact;
  std::string evidence; // "NVIDIA H200"; of `assumed`: what it is taken from; may be empty
  uint64_t warp_instructions = 0;
  uint64_t lane_instructions = 0;
};

// Instructions of one opcode that compiled code has left to the interpreter's function for it.
struct CalledCount {
  std::string opcode; // "atom"
  uint64_t count = 0; // warp instructions

  friend bool operator==(const CalledCount&, const CalledCount&) = default;
};

// Counts are absent where the device does not count.
struct Stats {
  std::optional<uint64_t> warp_instructions;
  std::optional<uint64_t> lane_instructions; // one for each lane that executed
  // Of the warp instructions those that ran as code of the host (lemma/launch.h, Engine), and of these the
  // ones whose code was a call of the interpreter's function: by opcode, the most frequent first.
  std::optional<uint64_t> compiled_instructions;
  std::vector<CalledCount> called = {};
  // What the launch has compiled: bytes of code, which the module keeps, and the time that this took.
  std::optional<uint64_t> compiled_code_bytes = {};
  double compile_seconds = 0;
  std::optional<uint64_t> matrix_flops; // 2*M*N*K a matrix instruction
  std::optional<MatrixOutputs> matrix_outputs;
  // LaunchConfig::count_accesses: what there was. Absent: not counted.
  std::optional<std::vector<AccessCount>> accesses = {};
  std::optional<std::vector<AsyncCount>> async_operations = {};
  double seconds = 0; // of the launch alone
};

struct Report {
  Outcome outcome = Outcome::finished;
  std::optional<Fault> fault;                   // present unless `finished`
  std::vector<Waiting> waiting;                 // of a deadlock: who waits for what; stopped: where all were
  std::vector<UninitializedRead> uninitialized; // the first ten instructions
  uint64_t uninitialized_reads = 0;             // all of them
  std::vector<Finding> findings;                // LaunchConfig::check; notes too
  uint64_t checked_ctas = 0;                    // LaunchConfig::check: whose accesses were followed
  // An atomic floating-point addition was executed: its sum follows from the order of its terms, and so do
  // the outputs.
  bool float_atomics = false;
  std::vector<std::string> warnings;
  // An approximate function (.approx, .full) ran on a machine whose bits have not been measured: they are
  // assumed to be those of sm_90.
  bool assumed_approximate = false;
  std::string arithmetic;          // the machine whose bits these are: "sm_90"
  std::vector<ExecutedForm> forms; // LaunchConfig::fidelity: the least known first
  std::string device;              // "virtual GPU", "NVIDIA H200"
  Stats stats;
  // Fault, waiting, uninitialized reads and warnings for a terminal; empty if there are none. Findings have
  // texts of their own.
  std::string rendered;

  bool ok() const { return outcome == Outcome::finished; }
};

} // namespace lemma
