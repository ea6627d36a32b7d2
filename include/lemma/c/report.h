// Of the C API (lemma/c.h): what a launch has to say. As lemma/report.h, where more is said.
//
// Tests: tests/unit/capi/launch_test.cc.
#ifndef LEMMA_C_REPORT_H
#define LEMMA_C_REPORT_H

#include "lemma/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum lemma_outcome LEMMA_INT {
  LEMMA_OUTCOME_FINISHED = 0,    // every CTA ran to its end
  LEMMA_OUTCOME_FAULT = 1,       // the kernel did what it must not do
  LEMMA_OUTCOME_UNSUPPORTED = 2, // it reached an instruction that is legal and not modelled
  LEMMA_OUTCOME_INTERNAL = 3,    // a bug of Lemma
  LEMMA_OUTCOME_STOPPED = 4      // on request
} lemma_outcome;
LEMMA_API const char* lemma_outcome_name(lemma_outcome outcome);

typedef enum lemma_fault_kind LEMMA_INT {
  LEMMA_FAULT_OUT_OF_BOUNDS = 0,         // no allocation holds the whole access
  LEMMA_FAULT_MISALIGNED = 1,            // the address is not a multiple of what the access needs
  LEMMA_FAULT_READ_ONLY = 2,             // store to .const or kernel parameters
  LEMMA_FAULT_WRONG_SPACE = 3,           // an address of another state space
  LEMMA_FAULT_TRAP = 4,                  // trap executed
  LEMMA_FAULT_BREAKPOINT = 5,            // brkpt executed: nobody is there to catch it
  LEMMA_FAULT_ASSERTION = 6,             // __assertfail
  LEMMA_FAULT_CALL_TOO_DEEP = 7,         // call stack or local memory exhausted
  LEMMA_FAULT_BAD_CALL = 8,              // indirect call or brx.idx to what is no target
  LEMMA_FAULT_TOO_MANY_INSTRUCTIONS = 9, // max_instructions
  LEMMA_FAULT_OUT_OF_MEMORY = 10,        // max_memory_bytes, or the host's end
  LEMMA_FAULT_DEADLOCK = 11,
  LEMMA_FAULT_ILLEGAL_INSTRUCTION = 12, // what the ISA leaves undefined or the hardware refuses at run time
  LEMMA_FAULT_TIMEOUT = 13,             // cuda: the driver's watchdog
  LEMMA_FAULT_LAUNCH_FAILED = 14,       // cuda: the driver says no more; a trap, for one
  LEMMA_FAULT_STOPPED = 15,             // no fault: the place is nobody's
  LEMMA_FAULT_UNSUPPORTED = 16,         // legal, not modelled
  LEMMA_FAULT_INTERNAL = 17             // a bug of Lemma
} lemma_fault_kind;
LEMMA_API const char* lemma_fault_kind_name(lemma_fault_kind kind);

// How well the bits of an instruction are known.
typedef enum lemma_fidelity LEMMA_INT {
  LEMMA_FIDELITY_EXACT = 0,      // the PTX ISA leaves no choice
  LEMMA_FIDELITY_RECORDED = 1,   // equal to what the hardware has stored, in recorded cases
  LEMMA_FIDELITY_PUBLISHED = 2,  // as papers that measured it say
  LEMMA_FIDELITY_ASSUMED = 3,    // as another architecture's
  LEMMA_FIDELITY_APPROXIMATE = 4 // may differ from the hardware's
} lemma_fidelity;
LEMMA_API const char* lemma_fidelity_name(lemma_fidelity fidelity);

// A line of the source, and the function that it stands in.
typedef struct lemma_source_frame {
  const char* file;
  uint32_t line;           // 1-based
  const char* function;    // as the PTX spells it: "_ZN3cub..."; empty: it does not name it
  const char* source_text; // of the line, without its indentation; empty: it cannot be read
} lemma_source_frame;

// A place in the program: the PTX line and, where .loc says so, the line of the source it was compiled from.
typedef struct lemma_place {
  uint32_t ptx_line;       // 1-based; 0: unknown
  uint32_t line;           // of the source
  const char* instruction; // the PTX statement, one line
  const char* file;        // of the source; empty: the PTX has no .loc there
  const char* function;    // of the PTX
  const char* source_text; // as lemma_source_frame's
  // Where an inlined function was called, innermost first: the last call stands in `function`. `file` and
  // `line` are in `inlined_function`, which is empty where nothing was inlined, or the PTX does not name it.
  size_t inlined_at_count;
  const lemma_source_frame* const* inlined_at;
  const char* inlined_function;
  // Of these the user's own, see users_frame() in lemma/report.h; null: the PTX has no .loc there.
  const lemma_source_frame* users_frame;
} lemma_place;

typedef struct lemma_fault {
  lemma_fault_kind kind;
  const char* id;      // of docs/checks.md: "barrier.divergent"; empty: none of those
  const char* message; // one line
  lemma_strings notes; // further lines: the nearest allocation, what to do
  const lemma_place* place;
  bool has_thread; // whether cta, warp and lane are known
  uint32_t cta[3];
  uint32_t warp;           // in the CTA
  int32_t lane;            // -1: the warp as a whole
  const uint64_t* address; // null: not known
} lemma_fault;

// A warp, or lanes of one, that can never go on; of a launch that was stopped, where it was.
typedef struct lemma_waiting {
  const lemma_place* place;
  uint32_t cta[3];
  uint32_t warp;
  uint32_t lanes;     // mask
  const char* reason; // "barrier 0: 96 of 128 threads have arrived"; empty: it was running (stopped)
  lemma_strings notes;
} lemma_waiting;

// Reads, by one instruction, of what was never written.
typedef struct lemma_uninitialized_read {
  const lemma_place* place;
  uint32_t cta[3]; // with warp and lane: of one such read
  uint32_t warp;
  int32_t lane;     // -1: the warp as a whole
  const char* what; // "register %r5", "shared memory at 0x410", ...
  uint64_t count;
} lemma_uninitialized_read;

// One of the accesses of a finding.
typedef struct lemma_access {
  const lemma_place* place;
  uint32_t cta[3];
  uint32_t warp;
  int32_t lane;            // -1: the warp as a whole
  const char* what;        // "writes 4 bytes"
  const uint64_t* address; // of the lane's access; null: not known
  const char* value;       // that it read or wrote: "0x3f800000"; empty: not known
  const char* text;        // all three: "writes 4 bytes at 0x480: 0x3f800000"
} lemma_access;

typedef enum lemma_repair_where LEMMA_INT {
  LEMMA_REPAIR_BEFORE = 0, // instructions more, before one
  LEMMA_REPAIR_BEHIND = 1,
  LEMMA_REPAIR_INSTEAD = 2 // another text for an opcode, an operand, or a whole instruction
} lemma_repair_where;
// "before", "behind", "instead".
LEMMA_API const char* lemma_repair_where_name(lemma_repair_where where);

// An edit of the PTX that mends a finding.
typedef struct lemma_finding_repair {
  lemma_repair_where where;
  const lemma_place* place; // of the instruction, or declaration
  const char* replaced;     // LEMMA_REPAIR_INSTEAD: what stands there; else empty
  const lemma_repair* edit;
} lemma_finding_repair;

// Such edits, to be made all together.
typedef struct lemma_finding_alternative {
  size_t repair_count;
  const lemma_finding_repair* const* repairs;
} lemma_finding_alternative;

// What the PTX ISA leaves undefined. One defect - an id and two instructions - is one.
typedef struct lemma_finding {
  const char* id; // "race.shared": docs/checks.md has a section for each
  bool is_note;   // the ISA leaves it doubtful
  bool suppressed;
  const char* message; // one line
  const char* memory;  // "tile + 0x40"
  const lemma_access* access;
  const lemma_access* earlier; // with which it is not ordered; null: it needs none
  const char* fix;             // the least that would order them
  uint64_t count;              // how often it was seen
  const char* kernel;
  const char* ptx; // the name that its text was loaded with
  const char* suppressed_because;
  uint64_t schedule, schedules; // of several: the first that has it, and how many have
  const char* rendered;         // for a terminal, but for the count; ends with a newline
  // Findings of one number are one defect: the same edits mend them. 0 is the worst.
  size_t group;
  size_t repair_count;                        // 0: it takes more than edits here or there
  const lemma_finding_repair* const* repairs; // to be made all together
  // Where nobody knows which of several things is wrong: each mends it in place of `repairs`.
  size_t alternative_count;
  const lemma_finding_alternative* const* alternatives;
} lemma_finding;

// Accesses to memory of one state space ("global", ...) and kind ("read", "write", "atomic").
typedef struct lemma_access_count {
  const char* space;
  const char* kind;
  uint64_t warp_accesses;
  uint64_t lane_accesses;
  uint64_t bytes;
} lemma_access_count;

// Asynchronous operations of one kind ("cp.async", "tensor load", "wgmma").
typedef struct lemma_async_count {
  const char* kind;
  uint64_t operations;
  uint64_t bytes;
} lemma_async_count;

// Which way the outputs of matrix instructions took. All give the same bits; they differ in time.
typedef struct lemma_matrix_outputs {
  uint64_t vector, careful, scalar;
} lemma_matrix_outputs;

// Instructions of one opcode that compiled code has left to the interpreter's function for it.
typedef struct lemma_called_count {
  const char* opcode; // "atom"
  uint64_t count;     // warp instructions
} lemma_called_count;

// A form of instruction that the launch executed.
typedef struct lemma_executed_form {
  const char* form; // "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
  lemma_fidelity fidelity;
  const char* evidence; // "NVIDIA H200"; may be empty
  uint64_t warp_instructions;
  uint64_t lane_instructions;
} lemma_executed_form;

// Null: the device does not count.
typedef struct lemma_stats {
  double seconds; // of the launch alone
  const uint64_t* warp_instructions;
  const uint64_t* lane_instructions; // one for each lane that executed
  const uint64_t* matrix_flops;      // 2*M*N*K a matrix instruction
  const lemma_matrix_outputs* matrix_outputs;
  bool has_accesses; // they were counted (count_accesses)
  size_t access_count;
  const lemma_access_count* const* accesses;
  size_t async_operation_count;
  const lemma_async_count* const* async_operations;
  // Of the warp instructions those that ran as code of the host (lemma_engine), and of these the ones whose
  // code was a call of the interpreter's function: by opcode, the most frequent first.
  const uint64_t* compiled_instructions;
  size_t called_count;
  const lemma_called_count* const* called;
  // What the launch has compiled: bytes of code, which the module keeps, and the time that this took.
  const uint64_t* compiled_code_bytes;
  double compile_seconds;
} lemma_stats;

typedef struct lemma_report {
  lemma_outcome outcome;
  const lemma_fault* fault; // null if it finished
  size_t waiting_count;
  const lemma_waiting* const* waiting;
  size_t uninitialized_count; // the first ten instructions
  const lemma_uninitialized_read* const* uninitialized;
  uint64_t uninitialized_reads; // all of them
  size_t finding_count;         // notes too
  const lemma_finding* const* findings;
  uint64_t checked_ctas;    // whose accesses were followed
  bool float_atomics;       // an atomic floating-point addition was executed
  bool assumed_approximate; // an approximate function ran whose bits are assumed to be those of sm_90
  lemma_strings warnings;
  const char* arithmetic; // the machine whose bits these are: "sm_90"
  const char* device;     // "virtual GPU", "NVIDIA H200"
  size_t form_count;      // lemma_launch_config.fidelity
  const lemma_executed_form* const* forms;
  const lemma_stats* stats;
  const char* rendered; // all but findings, for a terminal; empty if there is nothing to say
  const char* text;     // `rendered` and the findings that are neither notes nor suppressed
} lemma_report;
LEMMA_API void lemma_report_release(const lemma_report* report);

// The forms of one launch, or of several, as lemma/fidelity.h puts them together: the least known first.
typedef struct lemma_merged_forms {
  size_t form_count;
  const lemma_executed_form* const* forms;
  const char* text; // for people; ends with a newline; empty where there are no forms
} lemma_merged_forms;
LEMMA_API void lemma_merged_forms_release(const lemma_merged_forms* merged);
// `forms`: lemma_report.forms, of one launch after another. `arithmetic`: the machine's that the text names;
// may be null. `most`: of each kind in the text; 0: 8. Error: invalid_argument (null, no such fidelity).
LEMMA_API const lemma_error* lemma_merge_forms(const lemma_executed_form* const* forms, size_t form_count,
                                               const char* arithmetic, size_t most,
                                               const lemma_merged_forms** merged);

#ifdef __cplusplus
}
#endif

#endif
