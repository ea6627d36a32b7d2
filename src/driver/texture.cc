// The functions that make and describe texture and surface objects: from the API's descriptions to
// lemma::Texture, which has the rules.
//
// CUDA Driver API, "Texture Object Management", "Surface Object Management".
#include "driver/texture.h"

#include "driver/api.h"
#include "driver/call.h"
#include "driver/entry_points.h"
#include "driver/error.h"
#include "support/verbose.h"
#include "texture/object.h"

#include <algorithm>
#include <cstdio>

namespace lemma::driver {

unsigned long long TextureObjects::add(std::shared_ptr<TextureObject> object) {
  const std::scoped_lock lock(mutex_);
  const unsigned long long handle = object->object.handle();
  objects_[handle] = std::move(object);
  return handle;
}

std::shared_ptr<TextureObject> TextureObjects::find(unsigned long long handle, bool surface) const {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(handle);
  return found == objects_.end() || found->second->is_surface != surface ? nullptr : found->second;
}

// Under the lock, since the handle may be another object's as soon as this one is gone.
bool TextureObjects::remove(unsigned long long handle, bool surface) {
  const std::scoped_lock lock(mutex_);
  const auto found = objects_.find(handle);
  if (found == objects_.end() || found->second->is_surface != surface)
    return false;
  objects_.erase(found);
  return true;
}

void TextureObjects::destroy_all_of(const Context& context) {
  const std::scoped_lock lock(mutex_);
  std::erase_if(objects_, [&](const auto& each) { return each.second->context == &context; });
}

namespace {

constexpr uint64_t kAlignBytes = 256;     // what cuMemAlloc gives; an H200 has, and wants, 512
constexpr uint64_t kPitchAlignBytes = 32; // CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT

CUresult memory_of(const CUDA_RESOURCE_DESC& resource, TextureMemory& memory) {
  if (resource.flags != 0)
    return CUDA_ERROR_INVALID_VALUE;
  switch (resource.resType) {
  case CU_RESOURCE_TYPE_ARRAY: {
    const std::shared_ptr<Array> array = find_array(resource.res.array.hArray);
    if (!array)
      return CUDA_ERROR_INVALID_VALUE;
    memory = array->memory;
    return CUDA_SUCCESS;
  }
  case CU_RESOURCE_TYPE_LINEAR: {
    const auto& linear = resource.res.linear;
    const std::optional<Texels> texels = texels_of(linear.format, linear.numChannels);
    if (!texels || linear.devPtr == 0 || linear.devPtr % kAlignBytes != 0)
      return CUDA_ERROR_INVALID_VALUE;
    memory = {.shape = TextureShape::linear,
              .type = texels->type,
              .channels = texels->channels,
              .address = linear.devPtr};
    memory.width = linear.sizeInBytes / texture::Object{.memory = memory, .descriptor = {}}.texel_bytes();
    return CUDA_SUCCESS;
  }
  case CU_RESOURCE_TYPE_PITCH2D: {
    const auto& pitch = resource.res.pitch2D;
    const std::optional<Texels> texels = texels_of(pitch.format, pitch.numChannels);
    if (!texels || pitch.devPtr == 0 || pitch.devPtr % kAlignBytes != 0 || pitch.pitchInBytes == 0 ||
        pitch.pitchInBytes % kPitchAlignBytes != 0)
      return CUDA_ERROR_INVALID_VALUE;
    memory = {.shape = TextureShape::d2,
              .type = texels->type,
              .channels = texels->channels,
              .address = pitch.devPtr,
              .width = pitch.width,
              .height = pitch.height,
              .pitch_bytes = pitch.pitchInBytes};
    return CUDA_SUCCESS;
  }
  case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
    return refuse("a texture of a mipmapped array", CUDA_ERROR_NOT_SUPPORTED);
  }
  return CUDA_ERROR_INVALID_VALUE;
}

// Another format for texels of the same size: of an array, all of it.
CUresult apply(const CUDA_RESOURCE_VIEW_DESC& view, TextureMemory& memory) {
  constexpr TexelType kTypes[] = {TexelType::u8,  TexelType::s8,  TexelType::u16, TexelType::s16,
                                  TexelType::u32, TexelType::s32, TexelType::f16, TexelType::f32};
  constexpr uint32_t kChannels[] = {1, 2, 4};
  if (view.format == CU_RES_VIEW_FORMAT_NONE || view.format > CU_RES_VIEW_FORMAT_UNSIGNED_BC7)
    return CUDA_ERROR_INVALID_VALUE;
  if (view.format > CU_RES_VIEW_FORMAT_FLOAT_4X32)
    return refuse("a resource view of a compressed format", CUDA_ERROR_NOT_SUPPORTED);
  const auto index = static_cast<size_t>(view.format) - 1;
  TextureMemory seen = memory;
  seen.type = kTypes[index / std::size(kChannels)];
  seen.channels = kChannels[index % std::size(kChannels)];
  const auto bytes = [](const TextureMemory& m) {
    return texture::Object{.memory = m, .descriptor = {}}.texel_bytes();
  };
  if (view.width != memory.width || std::max<size_t>(view.height, 1) != memory.height ||
      std::max<size_t>(view.depth, 1) != memory.depth || view.firstMipmapLevel != 0 ||
      view.lastMipmapLevel != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (bytes(seen) != bytes(memory))
    return CUDA_ERROR_INVALID_VALUE;
  memory = seen;
  return CUDA_SUCCESS;
}

CUresult descriptor_of(const CUDA_TEXTURE_DESC& texture, TextureDescriptor& descriptor) {
  constexpr unsigned kKnown = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                              CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
  if (texture.flags & ~kKnown)
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < descriptor.addressing.size(); ++i) {
    if (texture.addressMode[i] > CU_TR_ADDRESS_MODE_BORDER)
      return CUDA_ERROR_INVALID_VALUE;
    descriptor.addressing[i] = static_cast<TextureAddressing>(texture.addressMode[i]);
  }
  if (texture.filterMode > CU_TR_FILTER_MODE_LINEAR)
    return CUDA_ERROR_INVALID_VALUE;
  descriptor.filter = static_cast<TextureFilter>(texture.filterMode);
  descriptor.normalized_coordinates = texture.flags & CU_TRSF_NORMALIZED_COORDINATES;
  descriptor.read_as_integer = texture.flags & CU_TRSF_READ_AS_INTEGER;
  descriptor.srgb = texture.flags & CU_TRSF_SRGB;
  std::copy_n(texture.borderColor, descriptor.border.size(), descriptor.border.begin());
  return CUDA_SUCCESS;
}

CUresult add(Context& context, Result<lemma::Texture, Error> made, TextureObject described,
             unsigned long long& handle) {
  if (!made) {
    if (is_verbose())
      std::fprintf(stderr, "lemma: %s\n", made.error().text.c_str());
    return status_of(made.error());
  }
  auto object = std::make_shared<TextureObject>(std::move(described));
  object->context = &context;
  object->object = *std::move(made);
  handle = state().textures.add(std::move(object));
  return CUDA_SUCCESS;
}

template <class Describe>
CUresult describe(const void* to, unsigned long long handle, bool surface, Describe describe) {
  return in_context([&](Context&) -> CUresult {
    const std::shared_ptr<TextureObject> object = state().textures.find(handle, surface);
    if (!to || !object)
      return CUDA_ERROR_INVALID_VALUE;
    describe(*object);
    return CUDA_SUCCESS;
  });
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;
using lemma::TextureDescriptor;
using lemma::TextureMemory;

CUresult cuTexObjectCreate(CUtexObject* handle, const CUDA_RESOURCE_DESC* resource,
                           const CUDA_TEXTURE_DESC* texture, const CUDA_RESOURCE_VIEW_DESC* view) {
  return in_context([&](Context& context) -> CUresult {
    if (!handle || !resource || !texture)
      return CUDA_ERROR_INVALID_VALUE;
    TextureMemory memory;
    TextureDescriptor descriptor;
    if (const CUresult wrong = memory_of(*resource, memory); wrong != CUDA_SUCCESS)
      return wrong;
    if (const CUresult wrong = descriptor_of(*texture, descriptor); wrong != CUDA_SUCCESS)
      return wrong;
    TextureObject described{.resource = *resource, .texture = *texture};
    if (view) {
      if (const CUresult wrong = apply(*view, memory); wrong != CUDA_SUCCESS)
        return wrong;
      described.view = *view;
    }
    return add(context, lemma::Texture::create(state().device, memory, descriptor), std::move(described),
               *handle);
  });
}

CUresult cuTexObjectDestroy(CUtexObject handle) {
  return in_context([&](Context& context) -> CUresult {
    context.synchronize();
    state().textures.remove(handle, false); // what is none is no error: as on an H200
    return CUDA_SUCCESS;
  });
}

CUresult cuTexObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUtexObject handle) {
  return describe(resource, handle, false, [&](const TextureObject& object) { *resource = object.resource; });
}

CUresult cuTexObjectGetTextureDesc(CUDA_TEXTURE_DESC* texture, CUtexObject handle) {
  return describe(texture, handle, false, [&](const TextureObject& object) { *texture = object.texture; });
}

CUresult cuTexObjectGetResourceViewDesc(CUDA_RESOURCE_VIEW_DESC* view, CUtexObject handle) {
  return in_context([&](Context&) -> CUresult {
    const std::shared_ptr<TextureObject> object = state().textures.find(handle, false);
    if (!view || !object)
      return CUDA_ERROR_INVALID_VALUE;
    if (object->view) // else what stands there stays, as on an H200
      *view = *object->view;
    return CUDA_SUCCESS;
  });
}

CUresult cuSurfObjectCreate(CUsurfObject* handle, const CUDA_RESOURCE_DESC* resource) {
  return in_context([&](Context& context) -> CUresult {
    if (!handle || !resource || resource->resType != CU_RESOURCE_TYPE_ARRAY)
      return CUDA_ERROR_INVALID_VALUE;
    TextureMemory memory;
    if (const CUresult wrong = memory_of(*resource, memory); wrong != CUDA_SUCCESS)
      return wrong;
    return add(context, lemma::Texture::create_surface(state().device, memory),
               TextureObject{.is_surface = true, .resource = *resource}, *handle);
  });
}

CUresult cuSurfObjectDestroy(CUsurfObject handle) {
  return in_context([&](Context& context) -> CUresult {
    context.synchronize();
    state().textures.remove(handle, true);
    return CUDA_SUCCESS;
  });
}

CUresult cuSurfObjectGetResourceDesc(CUDA_RESOURCE_DESC* resource, CUsurfObject handle) {
  return describe(resource, handle, true, [&](const TextureObject& object) { *resource = object.resource; });
}
