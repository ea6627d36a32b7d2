// The functions that make and describe arrays. Copies to and from them: copy.cc.
//
// CUDA Driver API, "Memory Management". Sizes and combinations of flags that are refused: as an H200's driver
// was seen to.
#include "driver/array.h"

#include "driver/api.h"
#include "driver/call.h"
#include "driver/entry_points.h"
#include "driver/error.h"
#include "texture/object.h"

#include <algorithm>
#include <cstdio>

namespace lemma::driver {

std::optional<Texels> texels_of(CUarray_format format, unsigned channels) {
  if (channels != 1 && channels != 2 && channels != 4)
    return std::nullopt;
  switch (format) {
  case CU_AD_FORMAT_UNSIGNED_INT8:
    return Texels{TexelType::u8, channels};
  case CU_AD_FORMAT_SIGNED_INT8:
    return Texels{TexelType::s8, channels};
  case CU_AD_FORMAT_UNSIGNED_INT16:
    return Texels{TexelType::u16, channels};
  case CU_AD_FORMAT_SIGNED_INT16:
    return Texels{TexelType::s16, channels};
  case CU_AD_FORMAT_UNSIGNED_INT32:
    return Texels{TexelType::u32, channels};
  case CU_AD_FORMAT_SIGNED_INT32:
    return Texels{TexelType::s32, channels};
  case CU_AD_FORMAT_HALF:
    return Texels{TexelType::f16, channels};
  case CU_AD_FORMAT_FLOAT:
    return Texels{TexelType::f32, channels};
  default:
    return std::nullopt;
  }
}

std::shared_ptr<Array> find_array(CUarray handle) {
  return state().arrays.find(handle);
}

namespace {

// The shape that a descriptor means; nothing: none.
std::optional<TextureShape> shape_of(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  const bool layered = d.Flags & CUDA_ARRAY3D_LAYERED;
  if (d.Width == 0)
    return std::nullopt;
  if (d.Flags & CUDA_ARRAY3D_CUBEMAP)
    return layered ? TextureShape::layered_cube : TextureShape::cube;
  if (layered) {
    if (d.Depth == 0)
      return std::nullopt;
    return d.Height == 0 ? TextureShape::layered_1d : TextureShape::layered_2d;
  }
  if (d.Depth != 0)
    return d.Height == 0 ? std::nullopt : std::optional(TextureShape::d3);
  return d.Height == 0 ? TextureShape::d1 : TextureShape::d2;
}

CUresult create(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return in_context([&](Context& context) -> CUresult {
    if (!array || !descriptor)
      return CUDA_ERROR_INVALID_VALUE;
    constexpr unsigned kKnown =
        CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_TEXTURE_GATHER;
    const std::optional<TextureShape> shape = shape_of(*descriptor);
    const std::optional<Texels> texels = texels_of(descriptor->Format, descriptor->NumChannels);
    if (!shape || !texels)
      return CUDA_ERROR_INVALID_VALUE;
    if (descriptor->Flags & ~kKnown)
      return refuse("an array with such flags", CUDA_ERROR_NOT_SUPPORTED);
    auto made = std::make_shared<Array>();
    made->context = &context;
    made->descriptor = *descriptor;
    made->memory = {.shape = *shape,
                    .type = texels->type,
                    .channels = texels->channels,
                    .width = descriptor->Width,
                    .height = std::max<uint64_t>(descriptor->Height, 1),
                    .depth = std::max<uint64_t>(descriptor->Depth, 1)};
    const texture::Object object{.memory = made->memory, .descriptor = {}};
    if (!wrong_with(object).empty())
      return CUDA_ERROR_INVALID_VALUE;
    made->texel_bytes = object.texel_bytes();
    Result<Buffer, Error> buffer = state().device.allocate(object.bytes(), {.name = "array"});
    if (!buffer)
      return status_of(buffer.error());
    made->buffer = *std::move(buffer);
    made->memory.address = made->buffer.address();
    *array = reinterpret_cast<CUarray>(state().arrays.add(std::move(made)));
    return CUDA_SUCCESS;
  });
}

template <class Describe>
CUresult describe(const void* to, CUarray handle, Describe describe) {
  return in_context([&](Context&) -> CUresult {
    if (!to)
      return CUDA_ERROR_INVALID_VALUE;
    const std::shared_ptr<Array> array = find_array(handle);
    if (!array)
      return CUDA_ERROR_INVALID_HANDLE;
    describe(*array);
    return CUDA_SUCCESS;
  });
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuArray3DCreate_v2(CUarray* array, const CUDA_ARRAY3D_DESCRIPTOR* descriptor) {
  return create(array, descriptor);
}

CUresult cuArrayCreate_v2(CUarray* array, const CUDA_ARRAY_DESCRIPTOR* descriptor) {
  if (!descriptor)
    return create(array, nullptr);
  const CUDA_ARRAY3D_DESCRIPTOR general{.Width = descriptor->Width,
                                        .Height = descriptor->Height,
                                        .Depth = 0,
                                        .Format = descriptor->Format,
                                        .NumChannels = descriptor->NumChannels,
                                        .Flags = 0};
  return create(array, &general);
}

CUresult cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* descriptor, CUarray array) {
  return describe(descriptor, array, [&](const Array& found) { *descriptor = found.descriptor; });
}

CUresult cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* descriptor, CUarray array) {
  return describe(descriptor, array, [&](const Array& found) {
    const CUDA_ARRAY3D_DESCRIPTOR& d = found.descriptor;
    *descriptor = {.Width = d.Width, .Height = d.Height, .Format = d.Format, .NumChannels = d.NumChannels};
  });
}

CUresult cuArrayDestroy(CUarray array) {
  return in_context([&](Context& context) -> CUresult {
    context.synchronize();
    return state().arrays.take(array) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
