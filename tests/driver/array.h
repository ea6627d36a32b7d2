// Arrays for the programs of this folder.
#pragma once

#include "check.h"

inline CUarray make_array(size_t width, size_t height, size_t depth, CUarray_format format, unsigned channels,
                          unsigned flags = 0) {
  const CUDA_ARRAY3D_DESCRIPTOR descriptor{width, height, depth, format, channels, flags};
  CUarray array = nullptr;
  OK(cuArray3DCreate_v2(&array, &descriptor));
  return array;
}

// A box between the host's memory, without gaps, and an array; all of it but for `x`, `y`, `z`.
inline CUDA_MEMCPY3D between(const void* host, CUarray array, bool to_array, size_t width_bytes,
                             size_t height, size_t depth, size_t x = 0, size_t y = 0, size_t z = 0) {
  CUDA_MEMCPY3D copy{};
  copy.WidthInBytes = width_bytes;
  copy.Height = height;
  copy.Depth = depth;
  if (to_array) {
    copy.srcMemoryType = CU_MEMORYTYPE_HOST;
    copy.srcHost = host;
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = array;
    copy.dstXInBytes = x, copy.dstY = y, copy.dstZ = z;
  } else {
    copy.dstMemoryType = CU_MEMORYTYPE_HOST;
    copy.dstHost = const_cast<void*>(host);
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = array;
    copy.srcXInBytes = x, copy.srcY = y, copy.srcZ = z;
  }
  return copy;
}

inline void fill_array(CUarray array, const void* values, size_t width_bytes, size_t height = 1,
                       size_t depth = 1) {
  const CUDA_MEMCPY3D copy = between(values, array, true, width_bytes, height, depth);
  OK(cuMemcpy3D_v2(&copy));
}

inline CUDA_RESOURCE_DESC resource_of(CUarray array) {
  CUDA_RESOURCE_DESC resource{};
  resource.resType = CU_RESOURCE_TYPE_ARRAY;
  resource.res.array.hArray = array;
  return resource;
}

inline CUDA_TEXTURE_DESC texture_of(CUaddress_mode mode, CUfilter_mode filter, unsigned flags = 0) {
  CUDA_TEXTURE_DESC texture{};
  for (CUaddress_mode& each : texture.addressMode)
    each = mode;
  texture.filterMode = filter;
  texture.flags = flags;
  return texture;
}

inline CUtexObject make_texture(const CUDA_RESOURCE_DESC& resource, const CUDA_TEXTURE_DESC& texture) {
  CUtexObject object = 0;
  OK(cuTexObjectCreate(&object, &resource, &texture, nullptr));
  return object;
}

inline CUsurfObject make_surface(CUarray array) {
  const CUDA_RESOURCE_DESC resource = resource_of(array);
  CUsurfObject object = 0;
  OK(cuSurfObjectCreate(&object, &resource));
  return object;
}
