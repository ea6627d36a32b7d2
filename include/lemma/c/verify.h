// Of the C API (lemma/c.h): PTX text checked against the PTX ISA, without a device. As lemma/verify.h.
//
// Tests: tests/unit/capi/inspect_test.cc.
#ifndef LEMMA_C_VERIFY_H
#define LEMMA_C_VERIFY_H

#include "lemma/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lemma_verify_options {
  size_t size;
  const char* name; // for messages; null: "<ptx>"
  bool lint;        // finds lemma_verification.lint
  bool repair;      // makes lemma_verification.repaired
  uint8_t reserved[6];
} lemma_verify_options;

typedef struct lemma_verification {
  bool accepted;        // the assembler for the text's .target would take it; warnings do not matter
  size_t message_count; // in the order of the text
  const lemma_message* const* messages;
  size_t fusion_count; // mul and add or sub that ptxas may make one fma of; none unless accepted
  const lemma_message* const* fusions;
  size_t lint_count; // races, missing waits and fences, and misuse, that can be told without a run
  const lemma_message* const* lint;
  // The text with the repairs that its messages offer, until there are none; the fields above are about this
  // one then. Null: lemma_verify_options.repair was not set.
  const lemma_text* repaired;
  size_t repairs; // made; 0: the text is as it was
  // Nothing is wrong, but something is not understood, as an `unsupported` message says: `accepted` is false.
  bool undecided;
  uint8_t reserved[7];
} lemma_verification;
LEMMA_API void lemma_verification_release(const lemma_verification* verification);

// A text that is not legal is no error: `accepted` is false, and the messages say why.
LEMMA_API const lemma_error* lemma_verify(const char* text, size_t text_bytes,
                                          const lemma_verify_options* options,
                                          const lemma_verification** verification);

// --- many texts, on many threads

// A text, which lemma_verify_each_options.read sets. Copied.
typedef struct lemma_verify_source lemma_verify_source;
// `name`: for messages; null: "<ptx>". `lint`: as lemma_verify_options.lint.
LEMMA_API const lemma_error* lemma_verify_source_set(lemma_verify_source* source, const char* text,
                                                     size_t text_bytes, const char* name, bool lint);

typedef struct lemma_verify_each_options {
  size_t size;
  size_t count;      // of texts
  uint32_t threads;  // of the host; 0: as many as it has cores
  uint32_t reserved; // 0
  // Sets text `index` and returns null, or returns why there is none, an error that becomes the library's.
  // Called from any thread, several at a time.
  const lemma_error* (*read)(void* user, size_t index, lemma_verify_source* source);
  // Gets what became of it: a verification, or the error of `read`; the other one is null. In the order of
  // the index, one call at a time, from any thread. Both live as long as the call.
  void (*take)(void* user, size_t index, const lemma_verification* verification, const lemma_error* error);
  void* user; // for both
} lemma_verify_each_options;

// Error: invalid_argument, out_of_memory.
LEMMA_API const lemma_error* lemma_verify_each(const lemma_verify_each_options* options);

#ifdef __cplusplus
}
#endif

#endif
