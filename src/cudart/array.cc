// Arrays, textures and surfaces: the runtime's descriptions as the driver's.
//
// Sizes and positions in an array are in elements here and in bytes there ("CUDA Runtime API",
// cudaMemcpy3DParms); the older functions of rows and rectangles count bytes here, too.
#include "cudart/array.h"

#include "cudart/api.h"
#include "cudart/call.h"
#include "cudart/copy.h"
#include "support/checked_size.h"

#include <algorithm>

namespace lemma::cudart {

cudaError_t format_of(const cudaChannelFormatDesc& from, CUarray_format& format, unsigned& channels) {
  const int bits[] = {from.x, from.y, from.z, from.w};
  channels = 0;
  while (channels < 4 && bits[channels] != 0)
    ++channels;
  for (unsigned i = 0; i < 4; ++i)
    if (bits[i] != (i < channels ? bits[0] : 0))
      return cudaErrorInvalidChannelDescriptor;
  if (channels == 0 || channels == 3)
    return cudaErrorInvalidChannelDescriptor;
  const auto choose = [&](CUarray_format of_8, CUarray_format of_16, CUarray_format of_32) {
    format = bits[0] == 8 ? of_8 : bits[0] == 16 ? of_16 : bits[0] == 32 ? of_32 : CU_AD_FORMAT_MAX;
  };
  switch (from.f) {
  case cudaChannelFormatKindUnsigned:
    choose(CU_AD_FORMAT_UNSIGNED_INT8, CU_AD_FORMAT_UNSIGNED_INT16, CU_AD_FORMAT_UNSIGNED_INT32);
    break;
  case cudaChannelFormatKindSigned:
    choose(CU_AD_FORMAT_SIGNED_INT8, CU_AD_FORMAT_SIGNED_INT16, CU_AD_FORMAT_SIGNED_INT32);
    break;
  case cudaChannelFormatKindFloat:
    choose(CU_AD_FORMAT_MAX, CU_AD_FORMAT_HALF, CU_AD_FORMAT_FLOAT);
    break;
  default:
    format = CU_AD_FORMAT_MAX;
  }
  return format == CU_AD_FORMAT_MAX ? cudaErrorInvalidChannelDescriptor : cudaSuccess;
}

cudaChannelFormatDesc channel_of(CUarray_format format, unsigned channels) {
  int bits = 32;
  cudaChannelFormatKind kind = cudaChannelFormatKindFloat;
  switch (format) {
  case CU_AD_FORMAT_UNSIGNED_INT8:
  case CU_AD_FORMAT_SIGNED_INT8:
    bits = 8;
    break;
  case CU_AD_FORMAT_UNSIGNED_INT16:
  case CU_AD_FORMAT_SIGNED_INT16:
  case CU_AD_FORMAT_HALF:
    bits = 16;
    break;
  default:
    break;
  }
  if (format <= CU_AD_FORMAT_UNSIGNED_INT32)
    kind = cudaChannelFormatKindUnsigned;
  else if (format <= CU_AD_FORMAT_SIGNED_INT32)
    kind = cudaChannelFormatKindSigned;
  const auto of = [&](unsigned channel) { return channel < channels ? bits : 0; };
  return {of(0), of(1), of(2), of(3), kind};
}

cudaError_t element_bytes_of(const Driver& driver, cudaArray_const_t array, size_t& bytes) {
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  if (const cudaError_t error = describe(driver, array, descriptor); error != cudaSuccess)
    return error;
  const cudaChannelFormatDesc channel = channel_of(descriptor.Format, descriptor.NumChannels);
  bytes = static_cast<size_t>(channel.x) / 8 * descriptor.NumChannels;
  return cudaSuccess;
}

cudaError_t describe(const Driver& driver, cudaArray_const_t array, CUDA_ARRAY3D_DESCRIPTOR& descriptor) {
  if (!array)
    return cudaErrorInvalidResourceHandle;
  return error_of(driver.cuArray3DGetDescriptor_v2(&descriptor, as_driver<CUarray>(array)));
}

namespace {

cudaError_t allocate(const Driver& driver, cudaArray_t* array, const cudaChannelFormatDesc* channel,
                     cudaExtent extent, unsigned flags) {
  if (!array || !channel)
    return cudaErrorInvalidValue;
  CUDA_ARRAY3D_DESCRIPTOR descriptor{};
  descriptor.Width = extent.width;
  descriptor.Height = extent.height;
  descriptor.Depth = extent.depth;
  descriptor.Flags = flags;
  if (const cudaError_t error = format_of(*channel, descriptor.Format, descriptor.NumChannels);
      error != cudaSuccess)
    return error;
  return error_of(driver.cuArray3DCreate_v2(reinterpret_cast<CUarray*>(array), &descriptor));
}

cudaError_t to_driver(const cudaResourceDesc& from, CUDA_RESOURCE_DESC& to) {
  to = {};
  to.flags = from.flags;
  switch (from.resType) {
  case cudaResourceTypeArray:
    to.resType = CU_RESOURCE_TYPE_ARRAY;
    to.res.array.hArray = as_driver<CUarray>(from.res.array.array);
    return cudaSuccess;
  case cudaResourceTypeMipmappedArray:
    to.resType = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
    to.res.mipmap.hMipmappedArray = as_driver<CUmipmappedArray>(from.res.mipmap.mipmap);
    return cudaSuccess;
  case cudaResourceTypeLinear: {
    to.resType = CU_RESOURCE_TYPE_LINEAR;
    auto& linear = to.res.linear;
    linear.devPtr = as_driver<CUdeviceptr>(from.res.linear.devPtr);
    linear.sizeInBytes = from.res.linear.sizeInBytes;
    return format_of(from.res.linear.desc, linear.format, linear.numChannels);
  }
  case cudaResourceTypePitch2D: {
    to.resType = CU_RESOURCE_TYPE_PITCH2D;
    auto& pitch = to.res.pitch2D;
    pitch.devPtr = as_driver<CUdeviceptr>(from.res.pitch2D.devPtr);
    pitch.width = from.res.pitch2D.width;
    pitch.height = from.res.pitch2D.height;
    pitch.pitchInBytes = from.res.pitch2D.pitchInBytes;
    return format_of(from.res.pitch2D.desc, pitch.format, pitch.numChannels);
  }
  }
  return cudaErrorInvalidValue;
}

cudaResourceDesc from_driver(const CUDA_RESOURCE_DESC& from) {
  cudaResourceDesc to{};
  to.flags = from.flags;
  switch (from.resType) {
  case CU_RESOURCE_TYPE_ARRAY:
    to.resType = cudaResourceTypeArray;
    to.res.array.array = as_driver<cudaArray_t>(from.res.array.hArray);
    break;
  case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
    to.resType = cudaResourceTypeMipmappedArray;
    to.res.mipmap.mipmap = as_driver<cudaMipmappedArray_t>(from.res.mipmap.hMipmappedArray);
    break;
  case CU_RESOURCE_TYPE_LINEAR: {
    const auto& linear = from.res.linear;
    to.resType = cudaResourceTypeLinear;
    to.res.linear.devPtr = reinterpret_cast<void*>(linear.devPtr);
    to.res.linear.desc = channel_of(linear.format, linear.numChannels);
    to.res.linear.sizeInBytes = linear.sizeInBytes;
    break;
  }
  case CU_RESOURCE_TYPE_PITCH2D: {
    const auto& pitch = from.res.pitch2D;
    to.resType = cudaResourceTypePitch2D;
    to.res.pitch2D.devPtr = reinterpret_cast<void*>(pitch.devPtr);
    to.res.pitch2D.desc = channel_of(pitch.format, pitch.numChannels);
    to.res.pitch2D.width = pitch.width;
    to.res.pitch2D.height = pitch.height;
    to.res.pitch2D.pitchInBytes = pitch.pitchInBytes;
    break;
  }
  }
  return to;
}

// CU_TRSF_*
constexpr unsigned kReadAsInteger = 0x01, kNormalizedCoordinates = 0x02, kSrgb = 0x10, kNoTrilinear = 0x20,
                   kSeamless = 0x40;

CUDA_TEXTURE_DESC to_driver(const cudaTextureDesc& from) {
  CUDA_TEXTURE_DESC to{};
  for (int i = 0; i < 3; ++i)
    to.addressMode[i] = as_driver<CUaddress_mode>(from.addressMode[i]);
  to.filterMode = as_driver<CUfilter_mode>(from.filterMode);
  to.flags = (from.readMode == cudaReadModeElementType ? kReadAsInteger : 0) |
             (from.normalizedCoords ? kNormalizedCoordinates : 0) | (from.sRGB ? kSrgb : 0) |
             (from.disableTrilinearOptimization ? kNoTrilinear : 0) | (from.seamlessCubemap ? kSeamless : 0);
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = as_driver<CUfilter_mode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy_n(from.borderColor, 4, to.borderColor);
  return to;
}

cudaTextureDesc from_driver(const CUDA_TEXTURE_DESC& from) {
  cudaTextureDesc to{};
  for (int i = 0; i < 3; ++i)
    to.addressMode[i] = as_driver<cudaTextureAddressMode>(from.addressMode[i]);
  to.filterMode = as_driver<cudaTextureFilterMode>(from.filterMode);
  to.readMode = from.flags & kReadAsInteger ? cudaReadModeElementType : cudaReadModeNormalizedFloat;
  to.normalizedCoords = (from.flags & kNormalizedCoordinates) != 0;
  to.sRGB = (from.flags & kSrgb) != 0;
  to.disableTrilinearOptimization = (from.flags & kNoTrilinear) != 0;
  to.seamlessCubemap = (from.flags & kSeamless) != 0;
  to.maxAnisotropy = from.maxAnisotropy;
  to.mipmapFilterMode = as_driver<cudaTextureFilterMode>(from.mipmapFilterMode);
  to.mipmapLevelBias = from.mipmapLevelBias;
  to.minMipmapLevelClamp = from.minMipmapLevelClamp;
  to.maxMipmapLevelClamp = from.maxMipmapLevelClamp;
  std::copy_n(from.borderColor, 4, to.borderColor);
  return to;
}

// A copy of rows of bytes, one side or both of which is an array; y counts rows.
struct Rows {
  cudaArray_const_t array = nullptr; // else `memory` and `pitch`
  size_t x = 0, y = 0;
  const void* memory = nullptr;
  size_t pitch = 0;
};

cudaError_t copy_rows(const Rows& to, const Rows& from, size_t width, size_t height, cudaMemcpyKind kind,
                      cudaStream_t stream, bool waits) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (kind > cudaMemcpyDefault)
      return cudaErrorInvalidMemcpyDirection;
    if ((!to.array && !to.memory) || (!from.array && !from.memory))
      return cudaErrorInvalidValue;
    if (width > 0 && height > 1 && ((!to.array && width > to.pitch) || (!from.array && width > from.pitch)))
      return cudaErrorInvalidPitchValue;
    CUDA_MEMCPY2D copy{};
    copy.srcMemoryType = from.array ? CU_MEMORYTYPE_ARRAY : source_type(kind);
    copy.srcArray = as_driver<CUarray>(from.array);
    copy.srcHost = from.memory;
    copy.srcDevice = as_driver<CUdeviceptr>(from.memory);
    copy.srcPitch = from.pitch;
    copy.srcXInBytes = from.x;
    copy.srcY = from.y;
    copy.dstMemoryType = to.array ? CU_MEMORYTYPE_ARRAY : destination_type(kind);
    copy.dstArray = as_driver<CUarray>(to.array);
    copy.dstHost = const_cast<void*>(to.memory);
    copy.dstDevice = as_driver<CUdeviceptr>(to.memory);
    copy.dstPitch = to.pitch;
    copy.dstXInBytes = to.x;
    copy.dstY = to.y;
    copy.WidthInBytes = width;
    copy.Height = height;
    return error_of(waits ? driver.cuMemcpy2DUnaligned_v2(&copy) : driver.cuMemcpy2DAsync_v2(&copy, stream));
  });
}

// So many bytes of an array from a place on are what is left of a row, or whole rows.
cudaError_t copy_bytes(Rows to, Rows from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream,
                       bool waits) {
  size_t row_bytes = 0;
  const Rows& array = to.array ? to : from;
  const cudaError_t error = in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    size_t element = 0;
    if (const cudaError_t wrong = describe(driver, array.array, descriptor); wrong != cudaSuccess)
      return wrong;
    const cudaError_t wrong = element_bytes_of(driver, array.array, element);
    row_bytes = descriptor.Width * element;
    return wrong;
  });
  if (error != cudaSuccess)
    return error;
  if (CheckedSize(array.x) + bytes <= row_bytes) {
    to.pitch = from.pitch = bytes;
    return copy_rows(to, from, bytes, 1, kind, stream, waits);
  }
  if (array.x != 0 || bytes % row_bytes != 0)
    return record(cudaErrorInvalidValue);
  to.pitch = from.pitch = row_bytes;
  return copy_rows(to, from, row_bytes, bytes / row_bytes, kind, stream, waits);
}

} // namespace
} // namespace lemma::cudart

using namespace lemma::cudart;

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// --- arrays

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* channel, size_t width,
                            size_t height, unsigned flags) {
  return in_context(
      [&](const Driver& driver) { return allocate(driver, array, channel, {width, height, 0}, flags); });
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* channel, cudaExtent extent,
                              unsigned flags) {
  return in_context([&](const Driver& driver) { return allocate(driver, array, channel, extent, flags); });
}

cudaError_t cudaFreeArray(cudaArray_t array) {
  return array ? pass(&Driver::cuArrayDestroy, array) : in_context([](const Driver&) { return cudaSuccess; });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* channel, cudaExtent* extent, unsigned* flags,
                             cudaArray_t array) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_ARRAY3D_DESCRIPTOR descriptor{};
    if (const cudaError_t error = describe(driver, array, descriptor); error != cudaSuccess)
      return error;
    if (channel)
      *channel = channel_of(descriptor.Format, descriptor.NumChannels);
    if (extent)
      *extent = {descriptor.Width, descriptor.Height, descriptor.Depth};
    if (flags)
      *flags = descriptor.Flags;
    return cudaSuccess;
  });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* channel, cudaArray_const_t array) {
  return channel ? cudaArrayGetInfo(channel, nullptr, nullptr, const_cast<cudaArray_t>(array))
                 : record(cudaErrorInvalidValue);
}

// --- copies

cudaError_t cudaMemcpy2DToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_rows({.array = to, .x = x, .y = y}, {.memory = from, .pitch = pitch}, width, height, kind,
                   nullptr, true);
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t pitch,
                                     size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_rows({.array = to, .x = x, .y = y}, {.memory = from, .pitch = pitch}, width, height, kind,
                   stream, false);
}
cudaError_t cudaMemcpy2DFromArray(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                  size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_rows({.memory = to, .pitch = pitch}, {.array = from, .x = x, .y = y}, width, height, kind,
                   nullptr, true);
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* to, size_t pitch, cudaArray_const_t from, size_t x, size_t y,
                                       size_t width, size_t height, cudaMemcpyKind kind,
                                       cudaStream_t stream) {
  return copy_rows({.memory = to, .pitch = pitch}, {.array = from, .x = x, .y = y}, width, height, kind,
                   stream, false);
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t to, size_t to_x, size_t to_y, cudaArray_const_t from,
                                     size_t from_x, size_t from_y, size_t width, size_t height,
                                     cudaMemcpyKind kind) {
  return copy_rows({.array = to, .x = to_x, .y = to_y}, {.array = from, .x = from_x, .y = from_y}, width,
                   height, kind, nullptr, true);
}
cudaError_t cudaMemcpyToArray(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                              cudaMemcpyKind kind) {
  return copy_bytes({.array = to, .x = x, .y = y}, {.memory = from}, bytes, kind, nullptr, true);
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t to, size_t x, size_t y, const void* from, size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_bytes({.array = to, .x = x, .y = y}, {.memory = from}, bytes, kind, stream, false);
}
cudaError_t cudaMemcpyFromArray(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
  return copy_bytes({.memory = to}, {.array = from, .x = x, .y = y}, bytes, kind, nullptr, true);
}
cudaError_t cudaMemcpyFromArrayAsync(void* to, cudaArray_const_t from, size_t x, size_t y, size_t bytes,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_bytes({.memory = to}, {.array = from, .x = x, .y = y}, bytes, kind, stream, false);
}

// --- textures and surfaces

cudaError_t cudaCreateTextureObject(cudaTextureObject_t* object, const cudaResourceDesc* resource,
                                    const cudaTextureDesc* texture, const cudaResourceViewDesc* view) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!object || !resource || !texture)
      return cudaErrorInvalidValue;
    CUDA_RESOURCE_DESC what;
    if (const cudaError_t error = to_driver(*resource, what); error != cudaSuccess)
      return error;
    const CUDA_TEXTURE_DESC how = to_driver(*texture);
    static_assert(sizeof(cudaResourceViewDesc) == sizeof(CUDA_RESOURCE_VIEW_DESC));
    return error_of(driver.cuTexObjectCreate(object, &what, &how,
                                             reinterpret_cast<const CUDA_RESOURCE_VIEW_DESC*>(view)));
  });
}

cudaError_t cudaDestroyTextureObject(cudaTextureObject_t object) {
  return pass(&Driver::cuTexObjectDestroy, object);
}

cudaError_t cudaGetTextureObjectResourceDesc(cudaResourceDesc* resource, cudaTextureObject_t object) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_RESOURCE_DESC what{};
    const cudaError_t error =
        resource ? error_of(driver.cuTexObjectGetResourceDesc(&what, object)) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
      *resource = from_driver(what);
    return error;
  });
}

cudaError_t cudaGetTextureObjectTextureDesc(cudaTextureDesc* texture, cudaTextureObject_t object) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_TEXTURE_DESC how{};
    const cudaError_t error =
        texture ? error_of(driver.cuTexObjectGetTextureDesc(&how, object)) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
      *texture = from_driver(how);
    return error;
  });
}

cudaError_t cudaGetTextureObjectResourceViewDesc(cudaResourceViewDesc* view, cudaTextureObject_t object) {
  return in_context([&](const Driver& driver) {
    return driver.cuTexObjectGetResourceViewDesc(reinterpret_cast<CUDA_RESOURCE_VIEW_DESC*>(view), object);
  });
}

cudaError_t cudaCreateSurfaceObject(cudaSurfaceObject_t* object, const cudaResourceDesc* resource) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    if (!object || !resource)
      return cudaErrorInvalidValue;
    CUDA_RESOURCE_DESC what;
    const cudaError_t error = to_driver(*resource, what);
    return error == cudaSuccess ? error_of(driver.cuSurfObjectCreate(object, &what)) : error;
  });
}

cudaError_t cudaDestroySurfaceObject(cudaSurfaceObject_t object) {
  return pass(&Driver::cuSurfObjectDestroy, object);
}

cudaError_t cudaGetSurfaceObjectResourceDesc(cudaResourceDesc* resource, cudaSurfaceObject_t object) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_RESOURCE_DESC what{};
    const cudaError_t error =
        resource ? error_of(driver.cuSurfObjectGetResourceDesc(&what, object)) : cudaErrorInvalidValue;
    if (error == cudaSuccess)
      *resource = from_driver(what);
    return error;
  });
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* width, const cudaChannelFormatDesc* channel,
                                                 int device) {
  return started([&](const Driver& driver) -> cudaError_t {
    CUarray_format format{};
    unsigned channels = 0;
    if (!width || !channel)
      return cudaErrorInvalidValue;
    const cudaError_t error = format_of(*channel, format, channels);
    return error == cudaSuccess
               ? error_of(driver.cuDeviceGetTexture1DLinearMaxWidth(width, format, channels, device))
               : error;
  });
}
