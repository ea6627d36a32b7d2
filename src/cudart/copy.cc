// Copies and fills; the functions of arrays: array.cc.
//
// The driver's functions are told by the kind which side is the host's: a host address on the device's side
// is an error there, as it is on an H200.
#include "cudart/copy.h"

#include "cudart/api.h"
#include "cudart/array.h"
#include "cudart/call.h"
#include "support/checked_size.h"

namespace lemma::cudart {
namespace {

bool is_kind(cudaMemcpyKind kind) {
  return kind <= cudaMemcpyDefault;
}

CUdeviceptr number(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

cudaError_t check(const void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0)
    return cudaSuccess;
  if (!is_kind(kind))
    return cudaErrorInvalidMemcpyDirection;
  return destination && source ? cudaSuccess : cudaErrorInvalidValue;
}

// 2D is 3D of one plane.
cudaError_t plane(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                  size_t width, size_t height, cudaMemcpyKind kind, CUDA_MEMCPY2D& copy) {
  if (!is_kind(kind))
    return cudaErrorInvalidMemcpyDirection;
  if (width > 0 && height > 0 && (width > destination_pitch || width > source_pitch))
    return cudaErrorInvalidPitchValue;
  copy = {};
  copy.srcMemoryType = source_type(kind);
  copy.srcHost = source;
  copy.srcDevice = number(source);
  copy.srcPitch = source_pitch;
  copy.dstMemoryType = destination_type(kind);
  copy.dstHost = destination;
  copy.dstDevice = number(destination);
  copy.dstPitch = destination_pitch;
  copy.WidthInBytes = width;
  copy.Height = height;
  return cudaSuccess;
}

} // namespace

CUmemorytype source_type(cudaMemcpyKind kind) {
  switch (kind) {
  case cudaMemcpyHostToHost:
  case cudaMemcpyHostToDevice:
    return CU_MEMORYTYPE_HOST;
  case cudaMemcpyDeviceToHost:
  case cudaMemcpyDeviceToDevice:
    return CU_MEMORYTYPE_DEVICE;
  default:
    return CU_MEMORYTYPE_UNIFIED;
  }
}
CUmemorytype destination_type(cudaMemcpyKind kind) {
  switch (kind) {
  case cudaMemcpyHostToHost:
  case cudaMemcpyDeviceToHost:
    return CU_MEMORYTYPE_HOST;
  case cudaMemcpyHostToDevice:
  case cudaMemcpyDeviceToDevice:
    return CU_MEMORYTYPE_DEVICE;
  default:
    return CU_MEMORYTYPE_UNIFIED;
  }
}

cudaError_t copy(const Driver& driver, void* destination, const void* source, size_t bytes,
                 cudaMemcpyKind kind) {
  if (const cudaError_t error = check(destination, source, bytes, kind); error != cudaSuccess || bytes == 0)
    return error;
  switch (kind) {
  case cudaMemcpyHostToDevice:
    return error_of(driver.cuMemcpyHtoD_v2(number(destination), source, bytes));
  case cudaMemcpyDeviceToHost:
    return error_of(driver.cuMemcpyDtoH_v2(destination, number(source), bytes));
  case cudaMemcpyDeviceToDevice:
    return error_of(driver.cuMemcpyDtoD_v2(number(destination), number(source), bytes));
  default:
    return error_of(driver.cuMemcpy(number(destination), number(source), bytes));
  }
}

cudaError_t copy_async(const Driver& driver, void* destination, const void* source, size_t bytes,
                       cudaMemcpyKind kind, cudaStream_t stream) {
  if (const cudaError_t error = check(destination, source, bytes, kind); error != cudaSuccess || bytes == 0)
    return error;
  switch (kind) {
  case cudaMemcpyHostToDevice:
    return error_of(driver.cuMemcpyHtoDAsync_v2(number(destination), source, bytes, stream));
  case cudaMemcpyDeviceToHost:
    return error_of(driver.cuMemcpyDtoHAsync_v2(destination, number(source), bytes, stream));
  case cudaMemcpyDeviceToDevice:
    return error_of(driver.cuMemcpyDtoDAsync_v2(number(destination), number(source), bytes, stream));
  default:
    return error_of(driver.cuMemcpyAsync(number(destination), number(source), bytes, stream));
  }
}

namespace {

// With an array the copy's width, and places in it, are in its elements.
cudaError_t add_arrays(const Driver& driver, const cudaMemcpy3DParms& p, CUDA_MEMCPY3D& copy) {
  size_t element = 1;
  for (const cudaArray_const_t array : {p.srcArray, p.dstArray})
    if (array)
      if (const cudaError_t error = element_bytes_of(driver, array, element); error != cudaSuccess)
        return error;
  bool all_fit = true;
  const auto to_bytes = [&](size_t& elements) {
    const std::optional<uint64_t> bytes = (CheckedSize(elements) * element).value();
    all_fit &= bytes.has_value();
    elements = bytes.value_or(0);
  };
  to_bytes(copy.WidthInBytes);
  if (p.srcArray) {
    copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.srcArray = as_driver<CUarray>(p.srcArray);
    to_bytes(copy.srcXInBytes);
  }
  if (p.dstArray) {
    copy.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    copy.dstArray = as_driver<CUarray>(p.dstArray);
    to_bytes(copy.dstXInBytes);
  }
  return all_fit ? cudaSuccess : cudaErrorInvalidValue;
}

} // namespace

cudaError_t to_driver(const Driver& driver, const cudaMemcpy3DParms& p, CUDA_MEMCPY3D& copy) {
  if (!is_kind(p.kind))
    return cudaErrorInvalidMemcpyDirection;
  if ((p.srcArray && p.srcPtr.ptr) || (p.dstArray && p.dstPtr.ptr))
    return cudaErrorInvalidValue;
  copy = {};
  copy.srcMemoryType = source_type(p.kind);
  copy.srcHost = p.srcPtr.ptr;
  copy.srcDevice = number(p.srcPtr.ptr);
  copy.srcXInBytes = p.srcPos.x;
  copy.srcY = p.srcPos.y;
  copy.srcZ = p.srcPos.z;
  copy.srcPitch = p.srcPtr.pitch;
  copy.srcHeight = p.srcPtr.ysize;
  copy.dstMemoryType = destination_type(p.kind);
  copy.dstHost = p.dstPtr.ptr;
  copy.dstDevice = number(p.dstPtr.ptr);
  copy.dstXInBytes = p.dstPos.x;
  copy.dstY = p.dstPos.y;
  copy.dstZ = p.dstPos.z;
  copy.dstPitch = p.dstPtr.pitch;
  copy.dstHeight = p.dstPtr.ysize;
  copy.WidthInBytes = p.extent.width;
  copy.Height = p.extent.height;
  copy.Depth = p.extent.depth;
  return p.srcArray || p.dstArray ? add_arrays(driver, p, copy) : cudaSuccess;
}

cudaMemcpy3DParms from_driver(const Driver& driver, const CUDA_MEMCPY3D& copy) {
  cudaMemcpy3DParms p{};
  const auto is_host = [](CUmemorytype type) { return type == CU_MEMORYTYPE_HOST; };
  const auto address = [&](CUmemorytype type, const void* host, CUdeviceptr device) {
    return is_host(type) ? const_cast<void*>(host) : reinterpret_cast<void*>(device);
  };
  p.srcPos = {copy.srcXInBytes, copy.srcY, copy.srcZ};
  p.srcPtr = {address(copy.srcMemoryType, copy.srcHost, copy.srcDevice), copy.srcPitch, copy.WidthInBytes,
              copy.srcHeight};
  p.dstPos = {copy.dstXInBytes, copy.dstY, copy.dstZ};
  p.dstPtr = {address(copy.dstMemoryType, copy.dstHost, copy.dstDevice), copy.dstPitch, copy.WidthInBytes,
              copy.dstHeight};
  p.extent = {copy.WidthInBytes, copy.Height, copy.Depth};
  if (copy.srcMemoryType == CU_MEMORYTYPE_UNIFIED || copy.dstMemoryType == CU_MEMORYTYPE_UNIFIED)
    p.kind = cudaMemcpyDefault;
  else
    p.kind = is_host(copy.srcMemoryType)
                 ? (is_host(copy.dstMemoryType) ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice)
                 : (is_host(copy.dstMemoryType) ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice);
  size_t element = 1;
  const auto add_array = [&](CUmemorytype type, CUarray from, cudaArray_t& array, cudaPos& at,
                             cudaPitchedPtr& memory) {
    if (type != CU_MEMORYTYPE_ARRAY)
      return;
    array = as_driver<cudaArray_t>(from);
    memory = {};
    if (element_bytes_of(driver, array, element) == cudaSuccess)
      at.x /= element;
  };
  add_array(copy.srcMemoryType, copy.srcArray, p.srcArray, p.srcPos, p.srcPtr);
  add_array(copy.dstMemoryType, copy.dstArray, p.dstArray, p.dstPos, p.dstPtr);
  p.extent.width /= element;
  return p;
}

cudaMemcpy3DParms row(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  cudaMemcpy3DParms p{};
  p.srcPtr = {const_cast<void*>(source), bytes, bytes, 1};
  p.dstPtr = {destination, bytes, bytes, 1};
  p.extent = {bytes, 1, 1};
  p.kind = kind;
  return p;
}

namespace {

// One device: its number, or an error.
cudaError_t check_devices(int first, int second) {
  return first == 0 && second == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t check_peers(const cudaMemcpy3DPeerParms* p, cudaMemcpy3DParms& copy) {
  if (!p)
    return cudaErrorInvalidValue;
  copy = {.srcArray = p->srcArray,
          .srcPos = p->srcPos,
          .srcPtr = p->srcPtr,
          .dstArray = p->dstArray,
          .dstPos = p->dstPos,
          .dstPtr = p->dstPtr,
          .extent = p->extent,
          .kind = cudaMemcpyDefault};
  return check_devices(p->srcDevice, p->dstDevice);
}

// Rows of all planes: with no gap between these they are planes of one, else a fill each.
template <class Fill>
cudaError_t fill_planes(const cudaPitchedPtr& to, int value, const cudaExtent& extent, Fill&& fill) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0)
    return cudaSuccess;
  const auto byte = static_cast<unsigned char>(value);
  const CheckedSize rows = CheckedSize(extent.depth) * extent.height;
  const CheckedSize bytes = CheckedSize(extent.depth) * to.pitch * to.ysize;
  if (!rows.value() || !(bytes + number(to.ptr)).value())
    return cudaErrorInvalidValue;
  if (extent.height == to.ysize || extent.depth == 1)
    return error_of(fill(number(to.ptr), to.pitch, byte, extent.width, extent.height * extent.depth));
  for (size_t i = 0; i < extent.depth; ++i)
    if (const CUresult status =
            fill(number(to.ptr) + i * to.pitch * to.ysize, to.pitch, byte, extent.width, extent.height);
        status != CUDA_SUCCESS)
      return error_of(status);
  return cudaSuccess;
}

} // namespace
} // namespace lemma::cudart

using namespace lemma::cudart;

cudaError_t cudaMemcpy(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind) {
  return in_context([&](const Driver& driver) { return copy(driver, destination, source, bytes, kind); });
}

cudaError_t cudaMemcpyAsync(void* destination, const void* source, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return in_context(
      [&](const Driver& driver) { return copy_async(driver, destination, source, bytes, kind, stream); });
}

cudaError_t cudaMemcpyPeer(void* destination, int to, const void* source, int from, size_t bytes) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    const cudaError_t error = check_devices(to, from);
    return error == cudaSuccess ? copy(driver, destination, source, bytes, cudaMemcpyDeviceToDevice) : error;
  });
}

cudaError_t cudaMemcpyPeerAsync(void* destination, int to, const void* source, int from, size_t bytes,
                                cudaStream_t stream) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    const cudaError_t error = check_devices(to, from);
    return error == cudaSuccess
               ? copy_async(driver, destination, source, bytes, cudaMemcpyDeviceToDevice, stream)
               : error;
  });
}

cudaError_t cudaMemcpy2D(void* destination, size_t destination_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY2D p;
    const cudaError_t error =
        plane(destination, destination_pitch, source, source_pitch, width, height, kind, p);
    return error == cudaSuccess ? error_of(driver.cuMemcpy2DUnaligned_v2(&p)) : error;
  });
}

cudaError_t cudaMemcpy2DAsync(void* destination, size_t destination_pitch, const void* source,
                              size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                              cudaStream_t stream) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY2D p;
    const cudaError_t error =
        plane(destination, destination_pitch, source, source_pitch, width, height, kind, p);
    return error == cudaSuccess ? error_of(driver.cuMemcpy2DAsync_v2(&p, stream)) : error;
  });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY3D p;
    const cudaError_t error = parameters ? to_driver(driver, *parameters, p) : cudaErrorInvalidValue;
    return error == cudaSuccess ? error_of(driver.cuMemcpy3D_v2(&p)) : error;
  });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
  return in_context([&](const Driver& driver) -> cudaError_t {
    CUDA_MEMCPY3D p;
    const cudaError_t error = parameters ? to_driver(driver, *parameters, p) : cudaErrorInvalidValue;
    return error == cudaSuccess ? error_of(driver.cuMemcpy3DAsync_v2(&p, stream)) : error;
  });
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
  return recorded([&]() -> cudaError_t {
    cudaMemcpy3DParms p{};
    const cudaError_t error = check_peers(parameters, p);
    return error == cudaSuccess ? cudaMemcpy3D(&p) : error;
  });
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
  return recorded([&]() -> cudaError_t {
    cudaMemcpy3DParms p{};
    const cudaError_t error = check_peers(parameters, p);
    return error == cudaSuccess ? cudaMemcpy3DAsync(&p, stream) : error;
  });
}

// --- fills

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return pass(&Driver::cuMemsetD8_v2, to, static_cast<unsigned char>(value), bytes);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return pass(&Driver::cuMemsetD8Async, to, static_cast<unsigned char>(value), bytes, stream);
}

cudaError_t cudaMemset2D(void* to, size_t pitch, int value, size_t width, size_t height) {
  return pass(&Driver::cuMemsetD2D8_v2, to, pitch, static_cast<unsigned char>(value), width, height);
}

cudaError_t cudaMemset2DAsync(void* to, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  return pass(&Driver::cuMemsetD2D8Async, to, pitch, static_cast<unsigned char>(value), width, height,
              stream);
}

cudaError_t cudaMemset3D(cudaPitchedPtr to, int value, cudaExtent extent) {
  return in_context(
      [&](const Driver& driver) { return fill_planes(to, value, extent, driver.cuMemsetD2D8_v2); });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr to, int value, cudaExtent extent, cudaStream_t stream) {
  return in_context([&](const Driver& driver) {
    return fill_planes(to, value, extent,
                       [&](auto... arguments) { return driver.cuMemsetD2D8Async(arguments..., stream); });
  });
}
