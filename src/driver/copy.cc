// A copy of any shape is one of three dimensions: rows of bytes, rows of rows. Where both sides leave no gaps
// it is done at once, else row by row.
#include "driver/copy.h"

#include "driver/api.h"
#include "driver/call.h"

#include <algorithm>
#include <cstring>

namespace lemma::driver {
namespace {

constexpr uint64_t kMostPitchBytes = 2147483647; // CU_DEVICE_ATTRIBUTE_MAX_PITCH

// One side of a copy.
struct Side {
  CUmemorytype type;
  CUdeviceptr address; // of the host's memory, too
  uint64_t x, y, z, level;
  uint64_t pitch, height;  // 0: no gap
  CUarray array = nullptr; // CU_MEMORYTYPE_ARRAY: pitch, height and place are its
  Place place = {};
  // Of what settle() has accepted.
  uint64_t row(uint64_t i, uint64_t plane) const { return ((z + plane) * height + y + i) * pitch + x; }
  // From the begin to the end of the copy's last row.
  CheckedSize bytes(const CUDA_MEMCPY3D& copy) const {
    const CheckedSize rows = (CheckedSize(z) + (copy.Depth - 1)) * height + y + (copy.Height - 1);
    return rows * pitch + x + copy.WidthInBytes;
  }
};

Side source_of(const CUDA_MEMCPY3D& c) {
  return {.type = c.srcMemoryType,
          .address =
              c.srcMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<uintptr_t>(c.srcHost) : c.srcDevice,
          .x = c.srcXInBytes,
          .y = c.srcY,
          .z = c.srcZ,
          .level = c.srcLOD,
          .pitch = c.srcPitch,
          .height = c.srcHeight,
          .array = c.srcArray};
}

Side destination_of(const CUDA_MEMCPY3D& c) {
  return {.type = c.dstMemoryType,
          .address =
              c.dstMemoryType == CU_MEMORYTYPE_HOST ? reinterpret_cast<uintptr_t>(c.dstHost) : c.dstDevice,
          .x = c.dstXInBytes,
          .y = c.dstY,
          .z = c.dstZ,
          .level = c.dstLOD,
          .pitch = c.dstPitch,
          .height = c.dstHeight,
          .array = c.dstArray};
}

CUresult settle_array(Side& side, const CUDA_MEMCPY3D& copy) {
  const std::shared_ptr<Array> array = find_array(side.array);
  if (!array)
    return CUDA_ERROR_INVALID_VALUE;
  const auto fits = [](uint64_t first, uint64_t count, uint64_t size) {
    return count <= size && first <= size - count;
  };
  if (side.level != 0 || !fits(side.x, copy.WidthInBytes, array->row_bytes()) ||
      !fits(side.y, copy.Height, array->memory.height) || !fits(side.z, copy.Depth, array->memory.depth))
    return CUDA_ERROR_INVALID_VALUE;
  side.pitch = array->row_bytes();
  side.height = array->memory.height;
  side.place = {nullptr, array->memory.address};
  return CUDA_SUCCESS;
}

CUresult settle(Side& side, const CUDA_MEMCPY3D& copy) {
  if (side.type == CU_MEMORYTYPE_ARRAY)
    return settle_array(side, copy);
  if (side.type < CU_MEMORYTYPE_HOST || side.type > CU_MEMORYTYPE_UNIFIED)
    return CUDA_ERROR_INVALID_VALUE;
  const CheckedSize row_end = CheckedSize(side.x) + copy.WidthInBytes;
  const CheckedSize plane_end = CheckedSize(side.y) + copy.Height;
  if (!row_end.value() || !plane_end.value())
    return CUDA_ERROR_INVALID_VALUE;
  if (side.pitch == 0)
    side.pitch = *row_end.value();
  if (side.height == 0)
    side.height = *plane_end.value();
  if (row_end > side.pitch || plane_end > side.height)
    return CUDA_ERROR_INVALID_VALUE;
  if (side.pitch > kMostPitchBytes && (copy.Height > 1 || copy.Depth > 1))
    return CUDA_ERROR_INVALID_VALUE;
  return place_of(side.address, side.bytes(copy), side.type == CU_MEMORYTYPE_DEVICE, side.place);
}

bool is_empty(const CUDA_MEMCPY3D& copy) {
  return copy.WidthInBytes == 0 || copy.Height == 0 || copy.Depth == 0;
}

CUresult settle(const CUDA_MEMCPY3D& copy, Side& source, Side& destination) {
  if (const CUresult wrong = settle(source, copy); wrong != CUDA_SUCCESS)
    return wrong;
  return settle(destination, copy);
}

} // namespace

CUresult check_copy(const CUDA_MEMCPY3D& copy) {
  if (is_empty(copy))
    return CUDA_SUCCESS;
  Side source = source_of(copy), destination = destination_of(copy);
  return settle(copy, source, destination);
}

namespace {

bool is_plain_host_memory(const Place& place) {
  return place.host && !state().memory.find(reinterpret_cast<uintptr_t>(place.host));
}

// A source of the host's own as it is now, without gaps.
std::shared_ptr<std::vector<std::byte>> read_now(const CUDA_MEMCPY3D& copy, Side& source) {
  auto bytes = std::make_shared<std::vector<std::byte>>(copy.WidthInBytes * copy.Height * copy.Depth);
  std::byte* to = bytes->data();
  for (uint64_t plane = 0; plane < copy.Depth; ++plane)
    for (uint64_t i = 0; i < copy.Height; ++i, to += copy.WidthInBytes)
      std::memcpy(to, source.place.at(source.row(i, plane)).host, copy.WidthInBytes);
  source.x = source.y = source.z = 0;
  source.pitch = copy.WidthInBytes;
  source.height = copy.Height;
  source.place = place_of_host(bytes->data());
  return bytes;
}

} // namespace

bool writes_plain_host_memory(const CUDA_MEMCPY3D& copy) {
  Side source = source_of(copy), destination = destination_of(copy);
  return !is_empty(copy) && settle(copy, source, destination) == CUDA_SUCCESS &&
         is_plain_host_memory(destination.place);
}

CUresult enqueue_copy(const CUDA_MEMCPY3D& copy, const lemma::Stream& queue, HostMemoryIsRead when) {
  if (is_empty(copy))
    return CUDA_SUCCESS;
  Side source = source_of(copy), destination = destination_of(copy);
  if (const CUresult wrong = settle(copy, source, destination); wrong != CUDA_SUCCESS)
    return wrong;
  std::shared_ptr<std::vector<std::byte>> staged;
  if (when == HostMemoryIsRead::at_once && is_plain_host_memory(source.place) && !destination.place.host)
    staged = read_now(copy, source);
  const auto has_no_gaps = [&](const Side& side) {
    return side.pitch == copy.WidthInBytes && (copy.Depth == 1 || side.height == copy.Height);
  };
  const bool at_once = has_no_gaps(source) && has_no_gaps(destination);
  const uint64_t rows = at_once ? 1 : copy.Height, planes = at_once ? 1 : copy.Depth;
  const uint64_t bytes = at_once ? copy.WidthInBytes * copy.Height * copy.Depth : copy.WidthInBytes;
  for (uint64_t plane = 0; plane < planes; ++plane)
    for (uint64_t i = 0; i < rows; ++i)
      if (const CUresult status = enqueue_bytes(queue, destination.place.at(destination.row(i, plane)),
                                                source.place.at(source.row(i, plane)), bytes);
          status != CUDA_SUCCESS)
        return status;
  return staged ? keep_until_here(queue, std::move(staged)) : CUDA_SUCCESS;
}

namespace {

CUresult settle(const CUDA_MEMSET_NODE_PARAMS& fill, Place& place) {
  if (fill.elementSize != 1 && fill.elementSize != 2 && fill.elementSize != 4)
    return CUDA_ERROR_INVALID_VALUE;
  const CheckedSize row_bytes = CheckedSize(fill.width) * fill.elementSize;
  if (fill.dst % fill.elementSize != 0)
    return CUDA_ERROR_INVALID_VALUE;
  if (fill.height > 1 &&
      (row_bytes > fill.pitch || fill.pitch % fill.elementSize != 0 || fill.pitch > kMostPitchBytes))
    return CUDA_ERROR_INVALID_VALUE;
  return place_of(fill.dst, CheckedSize(fill.height - 1) * fill.pitch + row_bytes, true, place);
}

} // namespace

CUresult check_fill(const CUDA_MEMSET_NODE_PARAMS& fill) {
  if (fill.width == 0 || fill.height == 0)
    return CUDA_SUCCESS;
  Place place;
  return settle(fill, place);
}

CUresult enqueue_fill(const CUDA_MEMSET_NODE_PARAMS& fill, const lemma::Stream& queue) {
  if (fill.width == 0 || fill.height == 0)
    return CUDA_SUCCESS;
  Place place;
  if (const CUresult wrong = settle(fill, place); wrong != CUDA_SUCCESS)
    return wrong;
  for (uint64_t i = 0; i < fill.height; ++i)
    if (const CUresult status =
            enqueue_elements(queue, place.at(i * fill.pitch), fill.value, fill.elementSize, fill.width);
        status != CUDA_SUCCESS)
      return status;
  return CUDA_SUCCESS;
}

namespace {

// Submits to the stream; of a synchronous function waits for it.
CUresult submit(Operation operation, CUstream handle, bool and_wait) {
  return in_stream(handle, [&](Stream& stream) -> CUresult {
    const auto* copy = std::get_if<Copy>(&operation);
    and_wait |= copy && !stream.capture() && writes_plain_host_memory(copy->parameters);
    if (const CUresult status = stream.submit(std::move(operation)); status != CUDA_SUCCESS)
      return status;
    return and_wait ? stream.synchronize() : CUDA_SUCCESS;
  });
}

Copy row(CUmemorytype to_type, CUdeviceptr to, CUmemorytype from_type, CUdeviceptr from, size_t bytes) {
  Copy copy;
  CUDA_MEMCPY3D& p = copy.parameters;
  p.srcMemoryType = from_type;
  p.srcHost = reinterpret_cast<const void*>(from);
  p.srcDevice = from;
  p.dstMemoryType = to_type;
  p.dstHost = reinterpret_cast<void*>(to);
  p.dstDevice = to;
  p.WidthInBytes = bytes;
  p.Height = p.Depth = 1;
  return copy;
}

Copy to_device(CUdeviceptr to, const void* from, size_t bytes) {
  return row(CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_UNIFIED, reinterpret_cast<uintptr_t>(from), bytes);
}
Copy to_host(void* to, CUdeviceptr from, size_t bytes) {
  return row(CU_MEMORYTYPE_UNIFIED, reinterpret_cast<uintptr_t>(to), CU_MEMORYTYPE_DEVICE, from, bytes);
}
Copy to_either(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return row(CU_MEMORYTYPE_UNIFIED, to, CU_MEMORYTYPE_UNIFIED, from, bytes);
}
Copy inside_device(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return row(CU_MEMORYTYPE_DEVICE, to, CU_MEMORYTYPE_DEVICE, from, bytes);
}

// The array's first row takes the place of a side.
Copy from_array(CUarray array, uint64_t offset, Copy copy) {
  CUDA_MEMCPY3D& p = copy.parameters;
  p.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  p.srcArray = array;
  p.srcXInBytes = offset;
  return copy;
}
Copy to_array(CUarray array, uint64_t offset, Copy copy) {
  CUDA_MEMCPY3D& p = copy.parameters;
  p.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  p.dstArray = array;
  p.dstXInBytes = offset;
  return copy;
}

Copy rectangle(const CUDA_MEMCPY2D& c) {
  Copy copy;
  CUDA_MEMCPY3D& p = copy.parameters;
  p.srcXInBytes = c.srcXInBytes;
  p.srcY = c.srcY;
  p.srcMemoryType = c.srcMemoryType;
  p.srcHost = c.srcHost;
  p.srcDevice = c.srcDevice;
  p.srcArray = c.srcArray;
  p.srcPitch = c.srcPitch;
  p.dstXInBytes = c.dstXInBytes;
  p.dstY = c.dstY;
  p.dstMemoryType = c.dstMemoryType;
  p.dstHost = c.dstHost;
  p.dstDevice = c.dstDevice;
  p.dstArray = c.dstArray;
  p.dstPitch = c.dstPitch;
  p.WidthInBytes = c.WidthInBytes;
  p.Height = c.Height;
  p.Depth = 1;
  return copy;
}

// One device: whose context a side is in does not matter.
Copy box(const CUDA_MEMCPY3D_PEER& c) {
  Copy copy;
  CUDA_MEMCPY3D& p = copy.parameters;
  static_assert(sizeof p == sizeof c &&
                offsetof(CUDA_MEMCPY3D, WidthInBytes) == offsetof(CUDA_MEMCPY3D_PEER, WidthInBytes));
  std::memcpy(&p, &c, sizeof p);
  p.reserved0 = p.reserved1 = nullptr;
  return copy;
}

CUresult check_peers(CUcontext destination, CUcontext source) {
  for (const CUcontext handle : {destination, source})
    if (handle && !find_context(handle)) // none: the current one
      return CUDA_ERROR_INVALID_CONTEXT;
  return CUDA_SUCCESS;
}

Fill fill(CUdeviceptr to, unsigned value, unsigned element_bytes, size_t width, size_t height = 1,
          size_t pitch = 0) {
  return {{.dst = to,
           .pitch = pitch,
           .value = value,
           .elementSize = element_bytes,
           .width = width,
           .height = height}};
}

} // namespace
} // namespace lemma::driver

using namespace lemma::driver;

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return submit(to_either(to, from, bytes), nullptr, true);
}
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return submit(to_either(to, from, bytes), stream, false);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return submit(to_device(to, from, bytes), nullptr, true);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return submit(to_device(to, from, bytes), stream, false);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return submit(to_host(to, from, bytes), nullptr, true);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return submit(to_host(to, from, bytes), stream, false);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return submit(inside_device(to, from, bytes), nullptr, true);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return submit(inside_device(to, from, bytes), stream, false);
}

CUresult cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t bytes) {
  return submit(to_array(to, offset, to_device(0, from, bytes)), nullptr, true);
}
CUresult cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t bytes, CUstream stream) {
  return submit(to_array(to, offset, to_device(0, from, bytes)), stream, false);
}
CUresult cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t bytes) {
  return submit(to_array(to, offset, inside_device(0, from, bytes)), nullptr, true);
}
CUresult cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t bytes) {
  return submit(from_array(from, offset, to_host(to, 0, bytes)), nullptr, true);
}
CUresult cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t bytes, CUstream stream) {
  return submit(from_array(from, offset, to_host(to, 0, bytes)), stream, false);
}
CUresult cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t bytes) {
  return submit(from_array(from, offset, inside_device(to, 0, bytes)), nullptr, true);
}
CUresult cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t bytes) {
  return submit(to_array(to, to_offset, from_array(from, from_offset, inside_device(0, 0, bytes))), nullptr,
                true);
}

CUresult cuMemcpyPeer(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                      size_t bytes) {
  const CUresult wrong = check_peers(to_context, from_context);
  return wrong == CUDA_SUCCESS ? submit(inside_device(to, from, bytes), nullptr, true) : wrong;
}
CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from, CUcontext from_context,
                           size_t bytes, CUstream stream) {
  const CUresult wrong = check_peers(to_context, from_context);
  return wrong == CUDA_SUCCESS ? submit(inside_device(to, from, bytes), stream, false) : wrong;
}

CUresult cuMemcpy2D_v2(const CUDA_MEMCPY2D* copy) {
  return copy ? submit(rectangle(*copy), nullptr, true) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* copy) {
  return cuMemcpy2D_v2(copy);
}
CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy ? submit(rectangle(*copy), stream, false) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpy3D_v2(const CUDA_MEMCPY3D* copy) {
  return copy ? submit(Copy{*copy}, nullptr, true) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copy ? submit(Copy{*copy}, stream, false) : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* copy) {
  if (!copy)
    return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_peers(copy->dstContext, copy->srcContext);
  return wrong == CUDA_SUCCESS ? submit(box(*copy), nullptr, true) : wrong;
}
CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  if (!copy)
    return CUDA_ERROR_INVALID_VALUE;
  const CUresult wrong = check_peers(copy->dstContext, copy->srcContext);
  return wrong == CUDA_SUCCESS ? submit(box(*copy), stream, false) : wrong;
}

CUresult cuMemsetD8_v2(CUdeviceptr to, unsigned char value, size_t count) {
  return submit(fill(to, value, 1, count), nullptr, true);
}
CUresult cuMemsetD16_v2(CUdeviceptr to, unsigned short value, size_t count) {
  return submit(fill(to, value, 2, count), nullptr, true);
}
CUresult cuMemsetD32_v2(CUdeviceptr to, unsigned value, size_t count) {
  return submit(fill(to, value, 4, count), nullptr, true);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return submit(fill(to, value, 1, width, height, pitch), nullptr, true);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return submit(fill(to, value, 2, width, height, pitch), nullptr, true);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
  return submit(fill(to, value, 4, width, height, pitch), nullptr, true);
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return submit(fill(to, value, 1, count), stream, false);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return submit(fill(to, value, 2, count), stream, false);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return submit(fill(to, value, 4, count), stream, false);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height,
                           CUstream stream) {
  return submit(fill(to, value, 1, width, height, pitch), stream, false);
}
CUresult cuMemsetD2D16Async(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height,
                            CUstream stream) {
  return submit(fill(to, value, 2, width, height, pitch), stream, false);
}
CUresult cuMemsetD2D32Async(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height,
                            CUstream stream) {
  return submit(fill(to, value, 4, width, height, pitch), stream, false);
}
