// Of the C API (lemma/c.h): one matrix product as a machine computes it, bit for bit. As lemma/mma.h.
//
//   const lemma_mma_form* form;
//   error = lemma_mma_form_of("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "sm_80", &form);
//   lemma_mma_operands operands = LEMMA_SIZED(lemma_mma_operands);
//   operands.a = (lemma_matrix){a, 16, 16, 2};   // uint16_t a[16][16]: the bits of f16
//   operands.b = (lemma_matrix){b, 16, 8, 2};
//   error = lemma_mma(form, &operands, d, sizeof d);   // uint32_t d[16][8]
//
// Tests: tests/unit/capi/inspect_test.cc.
#ifndef LEMMA_C_MMA_H
#define LEMMA_C_MMA_H

#include "lemma/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Elements, row by row, each in the low bits of an unsigned integer of the host.
typedef struct lemma_matrix {
  const void* data; // null: there is none
  uint64_t rows, cols;
  uint64_t element_bytes; // of that integer: 1, 2, 4 or 8
} lemma_matrix;

typedef struct lemma_mma_operand {
  const char* type;
  uint64_t rows, cols;
} lemma_mma_operand;

// What a product takes. Null: it takes none.
typedef struct lemma_mma_form {
  const char* spelling; // in full
  const char* arch;     // whose arithmetic it is: "sm_90"
  const char* rule;     // as lemma_arithmetic_rule
  const char* evidence;
  const lemma_mma_operand* a;                 // M x K; of a sparse one this is the dense matrix
  const lemma_mma_operand* b;                 // K x N
  const lemma_mma_operand *c, *d;             // M x N
  const lemma_mma_operand* stored_a;          // sparse: the stored half, M x K/2
  const lemma_mma_operand* metadata;          // sparse: a field of four bits (u4) for each chunk of a row
  const lemma_mma_operand *scale_a, *scale_b; // scaled: M x scales of a row, scales of a column x N
  uint32_t d_element_bytes;                   // of the integers that lemma_mma() writes
} lemma_mma_form;
LEMMA_API void lemma_mma_form_release(const lemma_mma_form* form);

// `arch`: a target or a machine; null: sm_90, or the first machine that has the instruction. Errors: as
// lemma_describe_matrix(); invalid_argument (it moves data; there is no such machine), unsupported (the
// machine does not have it).
LEMMA_API const lemma_error* lemma_mma_form_of(const char* name, const char* arch,
                                               const lemma_mma_form** form);

typedef struct lemma_mma_operands {
  size_t size;
  lemma_matrix a, b;
  lemma_matrix c;        // none: zeros
  lemma_matrix metadata; // sparse: then `a` is the stored half; none: dense, with its zeros
  lemma_matrix scale_a, scale_b;
} lemma_mma_operands;

// D, row by row, in integers of form->d_element_bytes. Errors: invalid_argument if a size or a value is
// wrong; lemma_error.operand says whose.
LEMMA_API const lemma_error* lemma_mma(const lemma_mma_form* form, const lemma_mma_operands* operands,
                                       void* d, size_t d_bytes);

// Bits of one element; 0 for what is no type.
LEMMA_API int32_t lemma_type_bits(const char* type);
// "1.5", "-3", "nan". Null if there is no memory.
LEMMA_API const lemma_text* lemma_element_text(uint64_t bits, const char* type);
// The elements of a NumPy array (dtype "<f4", "|u1"; C order) as those of a PTX type, one a word: lemma/mma.h
// has the table. `bits` has room for `elements` words. Error: invalid_argument.
LEMMA_API const lemma_error* lemma_bits_of(const void* data, size_t data_bytes, const char* dtype,
                                           uint64_t elements, const char* type, uint64_t* bits);

#ifdef __cplusplus
}
#endif

#endif
