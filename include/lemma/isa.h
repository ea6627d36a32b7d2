// The instructions that Lemma knows, as data: which there are, where they run, who holds what, how each
// machine rounds, and which of it recorded bits of hardware have checked. `lemma isa` is these functions,
// printed.
//
//   for (const lemma::MatrixInstruction& each : *lemma::matrix_instructions(words)) ...
//   const auto mma = lemma::describe_matrix("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32");
//
// Source: the rows of src/isa, which parser, verifier and virtual GPU read too. Types, targets and opcodes
// are spelled as in the PTX ISA: "bf16", "sm_90a", "wgmma.mma_async".
//
// Tests: tests/unit/inspect/, tests/cli/.
#pragma once

#include "lemma/layout.h"
#include "lemma/message.h"
#include "lemma/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

struct PtxVersion {
  int major = 0;
  int minor = 0;
};

// A target that has something, and which others have it for that.
struct TargetRange {
  enum class Covers : uint8_t { up, family, alone };
  std::string target; // "sm_80", "sm_100f", "sm_90a"
  Covers covers = Covers::up;
};

struct Availability {
  std::vector<TargetRange> targets; // any of them will do; none: every target
  std::string targets_text;         // "sm_80 and up"
  PtxVersion since;
  std::string section; // anchor in the PTX ISA document, without #
};

// Recorded cases of real hardware that execute an instruction (docs/recorded-bits.md).
struct HardwareCheck {
  std::string gpu; // "NVIDIA H200"; empty: no hardware has checked it
  uint64_t cases = 0;
  uint64_t outputs = 0;             // that these cases store
  std::vector<std::string> records; // "sm_90a/mma"

  bool any() const { return cases > 0; }
};

// All targets, oldest first: "sm_90", "sm_90a", ...
std::vector<std::string> targets();

// --- matrix instructions

// Spellings that differ in modifiers and in types that are alike.
struct MatrixInstruction {
  std::string pattern; // all in one: "mma.sync.aligned.m16n8k32.row.col{.satfinite}.s32.{s8,u8}.{s8,u8}.s32"
  std::string opcode;  // "wmma.load"
  std::string title;   // what a list groups by: "wmma.load.a", "mma.sp"
  int m = 0, n = 0, k = 0;             // k 0: it moves data; wgmma, tcgen05: its largest n, and m
  std::vector<std::string> d, a, b, c; // types; none where the spelling does not say it
  // In full, in the ISA's order. To those of tcgen05.mma shape and types are added, which PTX has in the
  // instruction descriptor: "tcgen05.mma.cta_group::1.kind::f16.m128n64k16.f32.f16.f16".
  std::vector<std::string> spellings;
  Availability availability;
  HardwareCheck checked;
};

// Those that all words fit, in the catalogue's order; no words: all. A word is the start of a spelling where
// any begins so, else a part of one; a shell pattern of a whole one; or a target. Error: invalid_argument,
// for a target that there is not.
Result<std::vector<MatrixInstruction>, Error> matrix_instructions(std::span<const std::string> words = {});

// How a machine computes it.
struct ArithmeticRule {
  std::string arch; // "sm_90"
  std::string rule; // "F = 25, all K at once, rounded toward zero"
  std::string evidence;
};

// One spelling explained.
struct MatrixDescription {
  MatrixInstruction instruction; // with this spelling's own n
  std::string spelling;
  std::string summary;                    // a line or two
  std::vector<std::string> operand_names; // in the order of the syntax: "d", "a", "b", "c"
  std::vector<std::string> other_shapes;  // of the same types: "m16n8k8"
  bool computes = false;                  // it multiplies; else it moves data
  bool by_warpgroup = false;              // ... by a warp
  bool byte_containers = false;           // e2m1, e2m3 and e3m2 take 8 bits each
  uint64_t flops = 0;                     // 2*M*N*K of one instruction; 0 if it moves data
  std::vector<MatrixOperand> operands;
  std::vector<ArithmeticRule> arithmetic; // machines that have it and whose arithmetic is known
  // tcgen05.mma:
  bool by_thread = false; // ... one thread issues it
  uint32_t instruction_descriptor = 0;
  std::vector<std::string> readings = {}; // where sources differ or are silent: what holds here
};

// `name`: a full spelling, or the start of the spellings of one instruction (then of the first of them); or
// one of tcgen05.ld, st and cp. Error: invalid_argument; its text, several lines, says which there are, or
// which are near.
Result<MatrixDescription, Error> describe_matrix(std::string_view name);

// --- all other instructions

// Of .approx and .full.
struct ApproximateFunction {
  std::string name;           // "ex2.approx.f32"
  std::string checked_inputs; // on sm_90; all other machines are assumed to have its bits
};
std::vector<ApproximateFunction> approximate_functions();

struct InstructionForm {
  std::string syntax; // in the notation of the PTX ISA's own syntax blocks, operands included
  std::string where;  // its classes of qualifiers
  Availability availability;
  HardwareCheck checked;
  std::vector<ApproximateFunction> approximate; // among its spellings
};

// Those that all words fit: a part of syntax or classes, or a target. Error: as matrix_instructions().
Result<std::vector<InstructionForm>, Error> instruction_forms(std::span<const std::string> words = {});

// --- the nvgpu dialect

// An operation of the dialect with some types, and how many of its forms do what.
struct NvgpuSupport {
  std::string operation; // "nvgpu.mma.sync"
  std::string types, shape, variant, instruction, targets;
  int forms = 0;
  int lower = 0;      // to PTX
  int pass_ptxas = 0; // which the assembler takes
  int run = 0;        // on the virtual GPU
  int equal = 0;      // of these, with the bits of PTX written by hand
  int refused = 0;    // illegal neighbours that are refused
};

// The lines that contain every word.
std::vector<NvgpuSupport> nvgpu_support(std::span<const std::string> words = {});

} // namespace lemma
