// Of the C API (lemma/c.h): NumPy's .npy files. As lemma/npy.h.
//
// Tests: tests/unit/capi/inspect_test.cc.
#ifndef LEMMA_C_NPY_H
#define LEMMA_C_NPY_H

#include "lemma/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct lemma_npy {
  const char* dtype; // as in the file: "<f4", "<f2", "|V2"
  size_t rank;
  const uint64_t* shape;
  const void* data; // C order, little-endian
  size_t data_bytes;
} lemma_npy;
LEMMA_API void lemma_npy_release(const lemma_npy* array);

// Bytes of one element; 0 if `dtype` is none that lemma_npy_parse() takes.
LEMMA_API uint64_t lemma_npy_element_bytes(const char* dtype);
// A whole file's bytes. Error: rejected, saying what is wrong with it.
LEMMA_API const lemma_error* lemma_npy_parse(const void* file, size_t file_bytes, const lemma_npy** array);
// A whole file's bytes, to be released by lemma_text_release(). Error: invalid_argument if `data_bytes` is
// not what dtype and shape say.
LEMMA_API const lemma_error* lemma_npy_serialize(const char* dtype, const uint64_t* shape, size_t rank,
                                                 const void* data, size_t data_bytes,
                                                 const lemma_text** file);

#ifdef __cplusplus
}
#endif

#endif
