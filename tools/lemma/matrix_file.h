// Matrices in .npy files as the elements of a PTX type, and back.
//
//   type of the matrix          the file's element type, and what happens
//   f16 f32 f64                 the same type: its bits
//   bf16                        |V2 (NumPy's bfloat16): its bits
//   tf32                        f32: its bits, of which the instruction ignores the low 13
//   any floating point          an unsigned integer of the type's size (fp8, fp6 and fp4: u8): bits
//   any floating point          f16, f32, f64: rounded to nearest even; beyond the largest number of a format
//                               without infinity that number
//   s8 u8 s4 u4 s32             any integer that the type can hold
//   b1                          0 or 1, an element each
//
// Tests: tests/cli/.
#pragma once

#include "isa/vocabulary.h"
#include "lemma/npy.h"
#include "lemma/result.h"

#include <cstdint>
#include <string>
#include <vector>

namespace lemma::cli {

// Row by row, every element in the low bits of a word.
struct BitMatrix {
  uint64_t rows = 0, cols = 0;
  std::vector<uint64_t> bits;

  uint64_t& at(uint64_t row, uint64_t col) { return bits[row * cols + col]; }
  uint64_t at(uint64_t row, uint64_t col) const { return bits[row * cols + col]; }
};

// Of either sign.
bool is_zero(isa::Type type, uint64_t bits);

// The error says what is wrong, without the file's name.
Result<BitMatrix, std::string> matrix_of(const npy::Array& array, isa::Type type);

// f16, f32, f64, s32 as NumPy's own types; others as raw unsigned integers.
npy::Array array_of(const BitMatrix& matrix, isa::Type type);

// "1.5", "-3", "nan".
std::string element_text(isa::Type type, uint64_t bits);

} // namespace lemma::cli
