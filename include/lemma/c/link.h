// Of the C API (lemma/c.h): several PTX texts as one. As lemma/link.h.
//
// Tests: tests/unit/capi/inspect_test.cc.
#ifndef LEMMA_C_LINK_H
#define LEMMA_C_LINK_H

#include "lemma/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// A text of the caller's.
typedef struct lemma_ptx_text {
  size_t size;
  const char* text;
  size_t text_bytes;
  const char* name; // for messages; null: "<ptx>"
} lemma_ptx_text;

typedef struct lemma_linked_ptx {
  const lemma_text* text;
  size_t message_count; // warnings about the texts, in their order
  const lemma_message* const* messages;
} lemma_linked_ptx;
LEMMA_API void lemma_linked_ptx_release(const lemma_linked_ptx* linked);

// Errors: rejected (a text is not legal, nothing or two things define a name, declarations differ, the
// targets are of different machines; the messages say where), invalid_argument (there are no texts),
// out_of_memory.
LEMMA_API const lemma_error* lemma_link_ptx(const lemma_ptx_text* texts, size_t text_count,
                                            const lemma_linked_ptx** linked);

#ifdef __cplusplus
}
#endif

#endif
