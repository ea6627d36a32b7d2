// Matrix instructions by name, as somebody writes one: finds the row of the catalogue, and says which
// operands an instruction of that spelling has and who holds them.
//
// Tests: tests/unit/inspect/, tests/cli/.
#pragma once

#include "isa/catalogue.h"
#include "isa/form.h"
#include "lemma/result.h"

#include <string>
#include <string_view>
#include <vector>

namespace lemma::inspect {

// One spelling of a row.
struct MatrixName {
  const isa::MatrixRow* row = nullptr; // in the catalogue
  isa::MatrixRow exact{};              // the row with the spelling's own N, where the row has many
  std::string spelling;                // in full
  std::vector<isa::Qual> quals;
  std::vector<isa::Type> types; // as written

  bool has(isa::Qual qual) const;
};

// A matrix of an instruction.
struct Operand {
  std::string name{};                        // "a", "metadata"
  layout::Matrix matrix = layout::Matrix::d; // metadata, scales: whose they are
  isa::Type type = isa::Type::none;          // of its elements; metadata: u4 for the four bits of a chunk
  bool in_memory = false;                    // B of wgmma: only ever in shared memory, found by a descriptor
  bool or_in_memory = false;                 // A of wgmma
  layout::Fragment fragment{};               // unless in_memory
  isa::FragmentRegisters registers{};

  bool is_metadata() const { return name == "metadata"; }
  bool is_scales() const { return name.starts_with("scale-"); }
};

// `name`: a full spelling, or the start of the spellings of one row (then of the first of them). The error is
// some lines that say which there are, or which are near.
Result<MatrixName, std::string> find_matrix(std::string_view name);

// D, A, B, C, in the instruction's order, and what goes with them; the one that moves of loads and stores.
std::vector<Operand> operands_of(const MatrixName& name);

// It alone of what moves matrices touches no memory.
bool is_movmatrix(const isa::MatrixRow& row);

// All spellings in one: "mma.sync.aligned.m16n8k32.row.col{.satfinite}.s32.{s8,u8}.{s8,u8}.s32".
std::string pattern_of(const isa::MatrixRow& row);

// The rows that every word fits, in the catalogue's order. A word is the start of a spelling where
// any has it, else a part of one; a shell pattern of a whole one; or a target that must have the row
// ("sm_90a").
std::vector<const isa::MatrixRow*> rows_like(const std::vector<std::string>& words);

// Whether the name of any matrix instruction, of tcgen05 too, begins so.
bool begins_matrix_name(std::string_view word);

// "did you mean ..." for a name that is none; empty where nothing is near.
std::string suggestions(std::string_view name);

} // namespace lemma::inspect
