// Texture and surface objects of the public API. See lemma/texture.h.
#include "lemma/texture.h"

#include "runtime/device_impl.h"
#include "runtime/guarded.h"
#include "runtime/texture_maker.h"

#include <fmt/format.h>

namespace lemma {

using runtime::failure;

Texture::~Texture() {
  if (device_)
    dynamic_cast<runtime::TextureMaker&>(*device_).remove_texture(handle_);
}

Result<Texture, Error> Texture::create(const Device& device, const TextureMemory& memory,
                                       const TextureDescriptor& descriptor) {
  return make(device, memory, descriptor, false);
}

Result<Texture, Error> Texture::create_surface(const Device& device, const TextureMemory& memory) {
  return make(device, memory, {}, true);
}

Result<Texture, Error> Texture::make(const Device& device, const TextureMemory& memory,
                                     const TextureDescriptor& descriptor, bool is_surface) {
  return runtime::guarded([&]() -> Result<Texture, Error> {
    const texture::Object object{.memory = memory, .descriptor = descriptor, .is_surface = is_surface};
    if (const std::string wrong = wrong_with(object); !wrong.empty())
      return failure(ErrorKind::invalid_argument,
                     fmt::format("no {} can be made: {}", is_surface ? "surface" : "texture", wrong));
    if (const std::string what = not_modelled(object); !what.empty())
      return failure(ErrorKind::unsupported, fmt::format("textures do not have {} yet", what));
    auto* maker = dynamic_cast<runtime::TextureMaker*>(device.impl_.get());
    if (!maker)
      return failure(
          ErrorKind::unsupported,
          "textures and surfaces are of the virtual GPU, device \"cpu\"; on a GPU the program makes its own "
          "(cuTexObjectCreate) and passes the handle");
    const Result<uint64_t, Error> handle = maker->add_texture(object);
    if (!handle)
      return Unexpected<Error>{handle.error()};
    Texture made;
    made.device_ = device.impl_;
    made.handle_ = *handle;
    return made;
  });
}

} // namespace lemma
