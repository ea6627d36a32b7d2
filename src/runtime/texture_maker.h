// What a device does that has textures and surfaces: the virtual GPU does, by this class beside DeviceImpl.
//
// Tests: tests/unit/runtime/texture_test.cc.
#pragma once

#include "lemma/message.h"
#include "lemma/result.h"
#include "texture/object.h"

namespace lemma::runtime {

class TextureMaker {
public:
  virtual ~TextureMaker() = default;
  // An object that breaks no rule; its handle. Error: out_of_memory.
  virtual Result<uint64_t, Error> add_texture(const texture::Object& object) = 0;
  virtual void remove_texture(uint64_t handle) = 0;
};

} // namespace lemma::runtime
