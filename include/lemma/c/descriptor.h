// Of the C API (lemma/c.h): descriptors of wgmma and tcgen05 field by field, and what is wrong with them. As
// lemma/descriptor.h.
//
//   lemma_descriptor_query query = LEMMA_SIZED(lemma_descriptor_query);
//   query.bits = 0x08100490;
//   query.of = "kind::f16";
//   error = lemma_explain_descriptor(&query, &descriptor);
//
// Tests: tests/unit/capi/inspect_test.cc.
#ifndef LEMMA_C_DESCRIPTOR_H
#define LEMMA_C_DESCRIPTOR_H

#include "lemma/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Which operand of tcgen05 it is, for what is legal there.
typedef enum lemma_descriptor_operand LEMMA_INT {
  LEMMA_DESCRIPTOR_ANY = 0,    // an instruction descriptor, if `of` says for what, else a matrix
  LEMMA_DESCRIPTOR_IDESC = 1,  // an instruction descriptor
  LEMMA_DESCRIPTOR_A_DESC = 2, // A and B of tcgen05.mma in shared memory
  LEMMA_DESCRIPTOR_B_DESC = 3,
  LEMMA_DESCRIPTOR_S_DESC = 4,          // what tcgen05.cp copies
  LEMMA_DESCRIPTOR_ZERO_COLUMN_MASK = 5 // of B of tcgen05.mma.ws
} lemma_descriptor_operand;

typedef struct lemma_descriptor_query {
  size_t size;
  uint64_t bits;
  const char* of; // whose: "wgmma", "tcgen05", "kind::f16", a spelling of tcgen05.mma; null: by its version
  lemma_descriptor_operand operand;
  uint32_t mn_major;           // a matrix: the operand's transpose bit
  uint32_t a_in_tensor_memory; // an instruction descriptor
} lemma_descriptor_query;

typedef struct lemma_descriptor_field {
  const char* name; // "N"; of bits that have no meaning "reserved" or "none"
  const char* bits; // "17-22"
  uint64_t value;   // as the bits have it
  const char* meaning;
} lemma_descriptor_field;

typedef struct lemma_descriptor {
  const char* what; // "instruction descriptor of tcgen05.mma.cta_group::1.kind::f16"
  int32_t width;    // bits
  size_t field_count;
  const lemma_descriptor_field* const* fields;
  const char* problem; // the first rule that it breaks; empty: none
  const char* product; // of an instruction descriptor that breaks none: for lemma_describe_matrix()
} lemma_descriptor;
LEMMA_API void lemma_descriptor_release(const lemma_descriptor* descriptor);

// Error: invalid_argument, if `of` is none of these, or the descriptor has more bits than it can.
LEMMA_API const lemma_error* lemma_explain_descriptor(const lemma_descriptor_query* query,
                                                      const lemma_descriptor** descriptor);

#ifdef __cplusplus
}
#endif

#endif
