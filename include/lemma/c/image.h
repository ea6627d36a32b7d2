// Of the C API (lemma/c.h): fatbins, cubins, executables, and the PTX in them. As lemma/image.h.
//
// Tests: tests/unit/capi/image_test.cc.
#ifndef LEMMA_C_IMAGE_H
#define LEMMA_C_IMAGE_H

#include "lemma/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lemma_image_options {
  size_t size;
  const char* arch; // the machine, as a target: "sm_90a"; null: any, so that the highest target is taken
  const char* name; // for messages; null: "<image>"
} lemma_image_options;

typedef struct lemma_image_ptx {
  const lemma_text* text;
  const char* name;     // for messages: lemma_image_options.name, with "(1)" if the image has several modules
  size_t message_count; // warnings, where relocatable texts were linked
  const lemma_message* const* messages;
} lemma_image_ptx;
LEMMA_API void lemma_image_ptx_release(const lemma_image_ptx* ptx);

typedef struct lemma_image_modules {
  size_t count;
  const lemma_image_ptx* const* items;
} lemma_image_modules;
LEMMA_API void lemma_image_modules_release(const lemma_image_modules* modules);

// Whether a file is one of these: it begins as a fatbin or an ELF file.
LEMMA_API bool lemma_is_image(const void* bytes, size_t size_bytes);

// The modules of a file: a fatbin, a cubin, a host's ELF file; or PTX text, which is given back. Errors:
// unsupported (no module has PTX that the machine runs), invalid_argument (the image is damaged, is no image;
// there is no such arch), rejected (its relocatable PTX does not link), out_of_memory.
LEMMA_API const lemma_error* lemma_ptx_of_image(const void* bytes, size_t size_bytes,
                                                const lemma_image_options* options,
                                                const lemma_image_modules** modules);

// The same for what cuModuleLoadData takes: a pointer to a wrapper of nvcc, a fatbin, a cubin, or text that
// ends in a NUL. Its sizes are those that it states.
LEMMA_API const lemma_error* lemma_ptx_of_module_data(const void* image, const lemma_image_options* options,
                                                      const lemma_image_ptx** ptx);

#ifdef __cplusplus
}
#endif

#endif
