// One matrix product as a machine computes it, bit for bit: without PTX, registers or layouts.
//
//   const auto form = lemma::mma_form("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_80");
//   lemma::MmaOperands operands{.a = *lemma::bits_of(a, form->a.type), .b = *lemma::bits_of(b,
//   form->b.type)}; const auto product = lemma::mma(form->spelling, operands, "sm_80");
//
// Tests: tests/unit/inspect/, tests/cli/.
#pragma once

#include "lemma/message.h"
#include "lemma/npy.h"
#include "lemma/result.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

// Elements of a PTX type, each in the low bits of a word, row by row.
struct BitMatrix {
  uint64_t rows = 0, cols = 0;
  std::vector<uint64_t> bits;

  uint64_t& at(uint64_t row, uint64_t col) { return bits[row * cols + col]; }
  uint64_t at(uint64_t row, uint64_t col) const { return bits[row * cols + col]; }
};

// The elements of an array of two dimensions as those of a PTX type. Error: invalid_argument.
//
//   type of the matrix          the array's element type, and what happens
//   f16 f32 f64                 the same type: its bits
//   bf16                        |V2 (NumPy's bfloat16): its bits
//   tf32                        f32: its bits, of which the instruction ignores the low 13
//   any floating point          an unsigned integer of the type's size (fp8, fp6 and fp4: u8): bits
//   any floating point          f16, f32, f64: rounded to nearest even; beyond the largest number of a format
//                               without infinity that number
//   s8 u8 s4 u4 s32             any integer that the type can hold
//   b1                          0 or 1, an element each
Result<BitMatrix, Error> bits_of(const npy::Array& array, std::string_view type);
// f16, f32, f64, s32 as NumPy's own types; others as raw unsigned integers.
npy::Array array_of(const BitMatrix& matrix, std::string_view type);
// "1.5", "-3", "nan".
std::string element_text(uint64_t bits, std::string_view type);
// Of one element.
int bits_of_type(std::string_view type);

struct MmaOperand {
  std::string type;
  uint64_t rows = 0, cols = 0;
};

// What a product takes.
struct MmaForm {
  std::string spelling;       // in full
  std::string arch;           // whose arithmetic it is: "sm_90"
  std::string rule, evidence; // as ArithmeticRule
  MmaOperand a;               // M x K; of a sparse one this is the dense matrix
  MmaOperand b;               // K x N
  MmaOperand c, d;            // M x N
  bool sparse = false;
  MmaOperand stored_a; // sparse: the stored half, M x K/2
  MmaOperand metadata; // sparse: a field of four bits (u4) for each chunk of a row
  bool scaled = false;
  MmaOperand scale_a, scale_b; // scaled: M x scales of a row, scales of a column x N
};

// `arch`: a target or a machine; empty: sm_90, or the first machine that has the instruction. Errors: as
// describe_matrix(); invalid_argument (it moves data; there is no such machine), unsupported (the machine
// does not have it).
Result<MmaForm, Error> mma_form(std::string_view name, std::string_view arch = {});

struct MmaOperands {
  BitMatrix a, b;
  std::optional<BitMatrix> c = {};        // none: zeros
  std::optional<BitMatrix> metadata = {}; // sparse: then `a` is the stored half; none: dense, with its zeros
  std::optional<BitMatrix> scale_a = {}, scale_b = {};
};

struct MmaError {
  Error error;
  std::string operand = {}; // whose values are wrong: "a", "metadata"; empty: nobody's
};

// D, in elements of the form's type. Errors: as mma_form(); invalid_argument if a size or a value is wrong.
Result<BitMatrix, MmaError> mma(const MmaForm& form, const MmaOperands& operands);

} // namespace lemma
