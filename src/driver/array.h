// CUDA arrays: texels in rows and planes without gaps, in device memory whose address the program is not
// told.
//
// Tests: tests/driver/arrays.cc.
#pragma once

#include "driver/types.h"
#include "lemma/texture.h"

#include <memory>
#include <optional>

namespace lemma::driver {

class Context;

// What Lemma calls a format and its channels; nothing: it has it not.
struct Texels {
  TexelType type;
  uint32_t channels;
};
std::optional<Texels> texels_of(CUarray_format format, unsigned channels);

struct Array {
  Context* context = nullptr;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{}; // as given
  TextureMemory memory;                 // where its texels lie
  uint64_t texel_bytes = 0;
  Buffer buffer;

  uint64_t row_bytes() const { return memory.width * texel_bytes; }
};

// The array of that handle; null: it is none.
std::shared_ptr<Array> find_array(CUarray handle);

} // namespace lemma::driver
