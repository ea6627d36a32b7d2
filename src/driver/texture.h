// Texture and surface objects, by the handles that programs pass to kernels.
//
// Tests: tests/driver/textures.cc, surfaces.cc.
#pragma once

#include "driver/types.h"
#include "lemma/texture.h"

#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace lemma::driver {

class Context;

struct TextureObject {
  Context* context = nullptr;
  bool is_surface = false;
  CUDA_RESOURCE_DESC resource{}; // these as given
  CUDA_TEXTURE_DESC texture = {};
  std::optional<CUDA_RESOURCE_VIEW_DESC> view = {};
  lemma::Texture object = {};
};

class TextureObjects {
public:
  unsigned long long add(std::shared_ptr<TextureObject> object);
  // Null: there is none.
  std::shared_ptr<TextureObject> find(unsigned long long handle, bool surface) const;
  // False: there is none.
  bool remove(unsigned long long handle, bool surface);
  void destroy_all_of(const Context& context);

private:
  mutable std::mutex mutex_;
  std::unordered_map<unsigned long long, std::shared_ptr<TextureObject>> objects_;
};

} // namespace lemma::driver
