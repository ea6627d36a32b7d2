// Of the C API (lemma/c.h): the instructions that Lemma knows - which there are, where they run, who holds
// what, how each machine rounds, which of it recorded bits of hardware have checked. As lemma/isa.h.
//
// Lists are of what all words fit: see lemma/isa.h for what a word is. No words: all.
//
// Tests: tests/unit/capi/inspect_test.cc.
#ifndef LEMMA_C_ISA_H
#define LEMMA_C_ISA_H

#include "lemma/c/base.h"
#include "lemma/c/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

// All targets, oldest first: "sm_90", "sm_90a", ... Of the process: not to be released. Null if there is no
// memory.
LEMMA_API const lemma_strings* lemma_targets(void);

typedef enum lemma_covers LEMMA_INT {
  LEMMA_COVERS_UP = 0,
  LEMMA_COVERS_FAMILY = 1,
  LEMMA_COVERS_ALONE = 2
} lemma_covers;

// A target that has something, and which others have it for that.
typedef struct lemma_target_range {
  const char* target; // "sm_80", "sm_100f", "sm_90a"
  lemma_covers covers;
} lemma_target_range;

typedef struct lemma_availability {
  size_t target_count; // any of them will do; none: every target
  const lemma_target_range* const* targets;
  const char* targets_text;         // "sm_80 and up"
  int32_t since_major, since_minor; // PTX version
  const char* section;              // anchor in the PTX ISA document, without #
} lemma_availability;

// Recorded cases of real hardware that execute an instruction (docs/recorded-bits.md).
typedef struct lemma_hardware_check {
  const char* gpu; // "NVIDIA H200"; empty: no hardware has checked it
  uint64_t cases;
  uint64_t outputs;      // that these cases store
  lemma_strings records; // "sm_90a/mma"
} lemma_hardware_check;

// --- matrix instructions

// Spellings that differ in modifiers and in types that are alike.
typedef struct lemma_matrix_instruction {
  const char* pattern; // all in one: "mma.sync.aligned.m16n8k32.row.col{.satfinite}.s32.{s8,u8}.{s8,u8}.s32"
  const char* opcode;  // "wmma.load"
  const char* title;   // what a list groups by: "wmma.load.a", "mma.sp"
  int32_t m, n, k;     // k 0: it moves data; wgmma, tcgen05: its largest n, and m
  lemma_strings d, a, b, c; // types; none where the spelling does not say it
  // In full, in the ISA's order. To those of tcgen05.mma shape and types are added, which PTX has in the
  // instruction descriptor: "tcgen05.mma.cta_group::1.kind::f16.m128n64k16.f32.f16.f16".
  lemma_strings spellings;
  const lemma_availability* availability;
  const lemma_hardware_check* checked;
} lemma_matrix_instruction;

typedef struct lemma_matrix_instructions {
  size_t count; // in the catalogue's order
  const lemma_matrix_instruction* const* items;
} lemma_matrix_instructions;
LEMMA_API void lemma_matrix_instructions_release(const lemma_matrix_instructions* list);
// Error: invalid_argument, for a target that there is not.
LEMMA_API const lemma_error* lemma_list_matrix_instructions(const char* const* words, size_t word_count,
                                                            const lemma_matrix_instructions** list);

// How a machine computes it.
typedef struct lemma_arithmetic_rule {
  const char* arch; // "sm_90"
  const char* rule; // "F = 25, all K at once, rounded toward zero"
  const char* evidence;
} lemma_arithmetic_rule;

// One spelling explained.
typedef struct lemma_matrix_description {
  const lemma_matrix_instruction* instruction; // with this spelling's own n
  const char* spelling;
  const char* summary;         // a line or two
  lemma_strings operand_names; // in the order of the syntax: "d", "a", "b", "c"
  lemma_strings other_shapes;  // of the same types: "m16n8k8"
  bool computes;               // it multiplies; else it moves data
  bool by_warpgroup;           // by a warpgroup; else by a warp
  bool byte_containers;        // e2m1, e2m3 and e3m2 take 8 bits each
  uint64_t flops;              // 2*M*N*K of one instruction; 0 if it moves data
  size_t operand_count;
  const lemma_matrix_operand* const* operands;
  size_t arithmetic_count; // machines that have it and whose arithmetic is known
  const lemma_arithmetic_rule* const* arithmetic;
  bool by_thread; // tcgen05.mma: one thread issues it
  uint32_t instruction_descriptor;
  lemma_strings readings; // where sources differ or are silent: what holds here
} lemma_matrix_description;
LEMMA_API void lemma_matrix_description_release(const lemma_matrix_description* description);
// `name`: a full spelling, or the start of the spellings of one instruction (then of the first of them); or
// one of tcgen05.ld, st and cp. Error: invalid_argument; its text, several lines, says which there are, or
// which are near.
LEMMA_API const lemma_error* lemma_describe_matrix(const char* name,
                                                   const lemma_matrix_description** description);

// --- all other instructions

// Of .approx and .full.
typedef struct lemma_approximate_function {
  const char* name;           // "ex2.approx.f32"
  const char* checked_inputs; // on sm_90; all other machines are assumed to have its bits
} lemma_approximate_function;
typedef struct lemma_approximate_functions {
  size_t count;
  const lemma_approximate_function* const* items;
} lemma_approximate_functions;
// Of the process: not to be released. Null if there is no memory.
LEMMA_API const lemma_approximate_functions* lemma_list_approximate_functions(void);

typedef struct lemma_instruction_form {
  const char* syntax; // in the notation of the PTX ISA's own syntax blocks, operands included
  const char* where;  // its classes of qualifiers
  const lemma_availability* availability;
  const lemma_hardware_check* checked;
  size_t approximate_count; // among its spellings
  const lemma_approximate_function* const* approximate;
} lemma_instruction_form;
typedef struct lemma_instruction_forms {
  size_t count;
  const lemma_instruction_form* const* items;
} lemma_instruction_forms;
LEMMA_API void lemma_instruction_forms_release(const lemma_instruction_forms* list);
// Error: invalid_argument, for a target that there is not.
LEMMA_API const lemma_error* lemma_list_instruction_forms(const char* const* words, size_t word_count,
                                                          const lemma_instruction_forms** list);

// --- the nvgpu dialect

// An operation of the dialect with some types, and how many of its forms do what.
typedef struct lemma_nvgpu_support {
  const char* operation; // "nvgpu.mma.sync"
  const char *types, *shape, *variant, *instruction, *targets;
  int32_t forms;
  int32_t lower;      // to PTX
  int32_t pass_ptxas; // which the assembler takes
  int32_t run;        // on the virtual GPU
  int32_t equal;      // of these, with the bits of PTX written by hand
  int32_t refused;    // illegal neighbours that are refused
} lemma_nvgpu_support;
typedef struct lemma_nvgpu_supports {
  size_t count;
  const lemma_nvgpu_support* const* items;
} lemma_nvgpu_supports;
LEMMA_API void lemma_nvgpu_supports_release(const lemma_nvgpu_supports* list);
LEMMA_API const lemma_error* lemma_list_nvgpu_support(const char* const* words, size_t word_count,
                                                      const lemma_nvgpu_supports** list);

#ifdef __cplusplus
}
#endif

#endif
